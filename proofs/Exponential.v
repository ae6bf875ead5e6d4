(** * exp(ε) from below and above, in integers

    A privacy level is ε = a/b, or ε = (r/s)·ln(n/d). *)

From Coq Require Import ZArith List Ring Lia Psatz.
From Tightrope Require Import Numbers.
Import ListNotations.
Open Scope Z_scope.

Inductive level :=
| Natural (a b : Z)
| Power (r s : nat) (n d : Z).

(** The sum of the first terms x^k/k! up to k = n for x = a/b is [top n / bottom n]. *)
Fixpoint bottom (b : Z) (n : nat) : Z :=
  match n with O => 1 | S m => bottom b m * (b * Z.of_nat n) end.
Fixpoint raised (a : Z) (n : nat) : Z :=
  match n with O => 1 | S m => raised a m * a end.
Fixpoint top (a b : Z) (n : nat) : Z :=
  match n with O => 1 | S m => top a b m * (b * Z.of_nat n) + raised a n end.

Fixpoint power {F : numbers} (x : F) (n : nat) : F :=
  match n with O => one | S m => mul (power x m) x end.

(** "E is exp(ε)": for ε = a/b it is at least every sum of first terms, and at most every fraction
    that none of them exceeds; for ε = (r/s)·ln(n/d) it is the s-th root of (n/d)^r. *)
Definition is_exp {F : numbers} (E : F) (l : level) : Prop :=
  match l with
  | Natural a b =>
      (forall k, le (of_Z (top a b k)) (mul E (of_Z (bottom b k)))) /\
      (forall u v, 0 < v -> (forall k, top a b k * v <= u * bottom b k) ->
         le (mul E (of_Z v)) (of_Z u))
  | Power r s n d => le zero E /\
      mul (power E s) (of_Z (d ^ Z.of_nat r)) = of_Z (n ^ Z.of_nat r)
  end.

Definition sound (l : level) : bool :=
  match l with
  | Natural a b => (0 <=? a) && (0 <? b)
  | Power r s n d => (0 <? n) && (0 <? d) && Nat.ltb 0 s
  end.

Definition unit := 2 ^ 320.

Lemma unit_pos : 0 < unit. Proof. reflexivity. Qed.

(** One term and the sum up to it, both rounded by [div]: down, or up. *)
Definition next (div : Z -> Z -> Z) (a b : Z) (k : Z) (state : Z * Z) : Z * Z :=
  let t := div (fst state * a) (b * k) in (t, snd state + t).
Fixpoint series (div : Z -> Z -> Z) (a b : Z) (n : nat) (k : Z) (state : Z * Z) : Z * Z :=
  match n with
  | O => state
  | S m => series div a b m (k + 1) (next div a b k state)
  end.
Definition up (x y : Z) := - (- x / y).

Definition terms (a b : Z) : nat := Z.to_nat (100 + 4 * up a b).
Definition low (a b : Z) : Z := snd (series Z.div a b (terms a b) 1 (unit, unit)).
Definition high (a b : Z) : Z :=
  let s := series up a b (terms a b) 1 (unit, unit) in
  snd s + 2 * fst (next up a b (Z.of_nat (terms a b) + 1) s).

(** Is p/q at most exp(ε)? And α' is at most 2^62·exp(-ε). *)
Definition below (l : level) (p q : Z) : bool :=
  (0 <? p) && (0 <? q) &&
  match l with
  | Natural a b => p * unit <=? low a b * q
  | Power r s n d =>
      p ^ Z.of_nat s * d ^ Z.of_nat r <=? n ^ Z.of_nat r * q ^ Z.of_nat s
  end.

Definition small (r s : nat) (n d : Z) (x : Z) : bool :=
  (0 <=? x) && (x ^ Z.of_nat s * n ^ Z.of_nat r <=? (2 ^ 62) ^ Z.of_nat s * d ^ Z.of_nat r).
Fixpoint root (r s : nat) (n d : Z) (bits : nat) (x : Z) : Z :=
  match bits with
  | O => x
  | S m =>
      let y := x + 2 ^ Z.of_nat m in
      root r s n d m (if small r s n d y then y else x)
  end.

Definition alpha_of (l : level) : Z :=
  match l with
  | Natural a b => unit * 2 ^ 62 / high a b
  | Power r s n d => root r s n d 63 0
  end.

(** ** The series *)
Section Series.
  Variables a b : Z.
  Hypothesis Ha : 0 <= a.
  Hypothesis Hb : 0 < b.

  Lemma bottom_pos : forall n, 0 < bottom b n.
  Proof. induction n; simpl bottom; [lia|]. apply Z.mul_pos_pos; [assumption|nia]. Qed.

  Lemma raised_nonneg : forall n, 0 <= raised a n.
  Proof. induction n; simpl; nia. Qed.

  Lemma top_pos : forall n, 0 < top a b n.
  Proof.
    induction n; [simpl; lia|].
    change (top a b (S n)) with (top a b n * (b * Z.of_nat (S n)) + raised a (S n)).
    pose proof (raised_nonneg (S n)).
    assert (0 < top a b n * (b * Z.of_nat (S n))) by (apply Z.mul_pos_pos; nia). lia.
  Qed.

  Definition is_low (k : nat) (s : Z * Z) :=
    0 <= fst s /\ fst s * bottom b k <= unit * raised a k /\ snd s * bottom b k <= unit * top a b k.
  Definition is_high (k : nat) (s : Z * Z) :=
    0 <= fst s /\ unit * raised a k <= fst s * bottom b k /\ unit * top a b k <= snd s * bottom b k.

  Lemma next_low : forall k s, is_low k s ->
    is_low (S k) (next Z.div a b (Z.of_nat (S k)) s).
  Proof.
    intros k [t s] [Ht [H1 H2]]. unfold next, is_low; cbn [fst snd] in *.
    set (c := b * Z.of_nat (S k)). assert (Hc : 0 < c) by (unfold c; nia).
    pose proof (Z.mul_div_le (t * a) c Hc) as Hd.
    pose proof (bottom_pos k) as Hbot.
    assert (Hd0 : 0 <= t * a / c) by (apply Z.div_pos; nia).
    set (t' := t * a / c) in *.
    cbn [bottom raised top]. fold c.
    assert (K : t' * (bottom b k * c) <= unit * (raised a k * a)).
    { apply Z.le_trans with (bottom b k * (t * a)); nia. }
    repeat split; [exact Hd0 | exact K |].
    replace ((s + t') * (bottom b k * c)) with (s * bottom b k * c + t' * (bottom b k * c)) by ring.
    replace (unit * (top a b k * c + raised a k * a))
      with (unit * top a b k * c + unit * (raised a k * a)) by ring.
    apply Z.add_le_mono; [apply Z.mul_le_mono_nonneg_r; lia | exact K].
  Qed.

  Lemma up_le : forall x y, 0 < y -> x <= y * up x y.
  Proof.
    intros x y Hy. unfold up. pose proof (Z.mul_div_le (- x) y Hy). lia.
  Qed.

  Lemma next_high : forall k s, is_high k s ->
    is_high (S k) (next up a b (Z.of_nat (S k)) s).
  Proof.
    intros k [t s] [Ht [H1 H2]]. unfold next, is_high; cbn [fst snd] in *.
    set (c := b * Z.of_nat (S k)). assert (Hc : 0 < c) by (unfold c; nia).
    pose proof (up_le (t * a) c Hc) as Hd.
    pose proof (bottom_pos k) as Hbot.
    assert (Hd0 : 0 <= up (t * a) c) by nia.
    set (t' := up (t * a) c) in *.
    cbn [bottom raised top]. fold c.
    assert (K : unit * (raised a k * a) <= t' * (bottom b k * c)).
    { apply Z.le_trans with (bottom b k * (t * a)); nia. }
    repeat split; [exact Hd0 | exact K |].
    replace ((s + t') * (bottom b k * c)) with (s * bottom b k * c + t' * (bottom b k * c)) by ring.
    replace (unit * (top a b k * c + raised a k * a))
      with (unit * top a b k * c + unit * (raised a k * a)) by ring.
    apply Z.add_le_mono; [apply Z.mul_le_mono_nonneg_r; lia | exact K].
  Qed.

  Lemma series_keeps : forall (P : nat -> Z * Z -> Prop) div,
    (forall k s, P k s -> P (S k) (next div a b (Z.of_nat (S k)) s)) ->
    forall n k s, P k s -> P (k + n)%nat (series div a b n (Z.of_nat (S k)) s).
  Proof.
    intros P div Hstep. induction n as [|n IH]; intros k s H; [now rewrite Nat.add_0_r|].
    cbn [series]. rewrite <- Nat.add_succ_comm.
    replace (Z.of_nat (S k) + 1) with (Z.of_nat (S (S k))) by lia.
    apply IH. now apply Hstep.
  Qed.

  Lemma low_sound : exists k, low a b * bottom b k <= unit * top a b k.
  Proof.
    exists (0 + terms a b)%nat.
    apply (series_keeps is_low Z.div next_low (terms a b) 0%nat (unit, unit)).
    unfold is_low; cbn. pose proof unit_pos; lia.
  Qed.

  Lemma high_sound : forall k, unit * top a b k <= high a b * bottom b k.
  Proof.
    set (n := terms a b).
    assert (Hn : 2 * a <= b * (Z.of_nat n + 2)).
    { unfold n, terms. pose proof (up_le a b Hb).
      assert (0 <= up a b) by nia. rewrite Z2Nat.id by lia. nia. }
    set (s := series up a b n 1 (unit, unit)).
    assert (Hs : is_high (0 + n) s).
    { apply (series_keeps is_high up next_high n 0%nat (unit, unit)).
      unfold is_high; cbn. pose proof unit_pos; lia. }
    simpl (0 + n)%nat in Hs.
    pose proof (next_high n s Hs) as Hnext.
    set (t := next up a b (Z.of_nat (S n)) s) in *.
    set (U := high a b).
    assert (HU : U = snd s + 2 * fst t).
    { unfold U, high. fold n. fold s. unfold t. now replace (Z.of_nat n + 1) with (Z.of_nat (S n)) by lia. }
    destruct Hs as [_ [_ Hs]]. destruct Hnext as [Ht0 [Ht _]].
    (* From n on, the sum with twice its next term only falls. *)
    assert (Hafter : forall m, (n <= m)%nat ->
      unit * (top a b m * (b * Z.of_nat (S m)) + 2 * raised a (S m)) <= U * bottom b (S m)).
    { intros m Hm. induction Hm as [|m Hm IH].
      - rewrite HU. cbn [bottom] in *. set (c := b * Z.of_nat (S n)) in *.
        assert (0 < c) by (unfold c; nia).
        replace ((snd s + 2 * fst t) * (bottom b n * c))
          with (snd s * bottom b n * c + 2 * (fst t * (bottom b n * c))) by ring.
        replace (unit * (top a b n * c + 2 * raised a (S n)))
          with (unit * top a b n * c + 2 * (unit * raised a (S n))) by ring.
        apply Z.add_le_mono; [apply Z.mul_le_mono_nonneg_r; lia | lia].
      - change (bottom b (S (S m))) with (bottom b (S m) * (b * Z.of_nat (S (S m)))).
        change (top a b (S m)) with (top a b m * (b * Z.of_nat (S m)) + raised a (S m)).
        change (raised a (S (S m))) with (raised a (S m) * a).
        set (c := b * Z.of_nat (S (S m))). assert (Hc : 2 * a <= c) by (unfold c; nia).
        pose proof (raised_nonneg (S m)) as Hr. pose proof unit_pos.
        apply Z.le_trans with
          (unit * (top a b m * (b * Z.of_nat (S m)) + 2 * raised a (S m)) * c); [|nia].
        set (r := raised a (S m)) in *. set (x := top a b m * (b * Z.of_nat (S m))).
        replace (unit * (x + 2 * r) * c) with (unit * ((x + r) * c + r * c)) by ring.
        apply Z.mul_le_mono_nonneg_l; [lia|]. nia. }
    assert (Hfrom : forall m, (n <= m)%nat -> unit * top a b m <= U * bottom b m).
    { intros m Hm. specialize (Hafter m Hm). pose proof (raised_nonneg (S m)).
      cbn [bottom] in Hafter. pose proof unit_pos.
      apply Z.mul_le_mono_pos_r with (b * Z.of_nat (S m)); nia. }
    intros k. destruct (Nat.le_gt_cases n k) as [Hk | Hk]; [auto|].
    assert (Hdown : forall j, (j <= n)%nat -> unit * top a b (n - j) <= U * bottom b (n - j)).
    { induction j as [|j IH]; intros Hj; [rewrite Nat.sub_0_r; auto|].
      specialize (IH ltac:(lia)). replace (n - j)%nat with (S (n - S j)) in IH by lia.
      set (m := (n - S j)%nat) in *. cbn [bottom] in IH.
      change (top a b (S m)) with (top a b m * (b * Z.of_nat (S m)) + raised a (S m)) in IH.
      pose proof (raised_nonneg (S m)). pose proof unit_pos.
      apply Z.mul_le_mono_pos_r with (b * Z.of_nat (S m)); nia. }
    replace k with (n - (n - k))%nat by lia. apply Hdown. lia.
  Qed.
End Series.

(** ** Roots *)
Section Roots.
  Variable F : numbers.
  Add Ring ring_of_roots : (ring_laws F).
  Local Open Scope num_scope.

  Lemma power_nonneg : forall (x : F) n, 0 <= x -> 0 <= power x n.
  Proof.
    induction n; simpl; intros H; [rewrite <- (of_Z_one F); apply of_Z_nonneg; lia|].
    apply (le_mul F); auto.
  Qed.

  Lemma power_mono : forall (x y : F) n, 0 <= x -> x <= y -> power x n <= power y n.
  Proof.
    induction n; simpl; intros Hx Hxy; [apply (le_refl F)|].
    apply (le_trans F _ (power x n * y)); [apply mul_le_l; auto using power_nonneg|].
    replace (power x n * y) with (y * power x n) by ring.
    replace (power y n * y) with (y * power y n) by ring.
    apply mul_le_l; auto. apply (le_trans F _ x); auto.
  Qed.

  Lemma power_of_Z : forall z n, power (of_Z z : F) n = of_Z (z ^ Z.of_nat n)%Z.
  Proof.
    induction n; [simpl; symmetry; apply (of_Z_one F)|].
    cbn [power]. rewrite IHn, <- (of_Z_mul F). f_equal.
    replace (Z.of_nat (S n)) with (Z.of_nat n + 1)%Z by lia.
    rewrite Z.pow_add_r by lia. f_equal. lia.
  Qed.

  Lemma power_mul : forall (x y : F) n, power (x * y) n = power x n * power y n.
  Proof. induction n; simpl; [|rewrite IHn]; ring. Qed.

  Lemma root_le : forall (x y : F) z n, 0 <= y -> (0 < z)%Z -> of_Z z <= x ->
    power x (S n) <= power y (S n) -> x <= y.
  Proof.
    intros x y z n Hy Hz Hzx Hpow.
    destruct (le_total F x y) as [H|H]; [exact H|].
    apply (le_cancel F (z ^ Z.of_nat n)); [apply Z.pow_pos_nonneg; lia|].
    apply le_sub.
    assert (Hzn : of_Z (z ^ Z.of_nat n) <= power x n).
    { rewrite <- power_of_Z. apply power_mono; auto. apply of_Z_nonneg. lia. }
    set (Z := of_Z (z ^ Z.of_nat n)) in *.
    assert (K : power y n <= power x n) by (apply power_mono; auto).
    (* x^(n+1) - y^(n+1) >= (x-y)·x^n >= (x-y)·z^n *)
    apply (le_trans F _ (power y (S n) - power x (S n))); [apply sub_le, Hpow|].
    apply le_sub. cbn [power].
    replace (Z * y - Z * x - (power y n * y - power x n * x))
      with ((power x n - Z) * (x - y) + y * (power x n - power y n)) by ring.
    apply add_nonneg; apply (le_mul F); auto; apply sub_le; auto.
  Qed.
End Roots.

(** ** What the two functions promise *)
Section Promise.
  Variable F : numbers.
  Add Ring ring_of_promise : (ring_laws F).

  Lemma small_root : forall r s n d, small r s n d 0 = true ->
    forall bits x, small r s n d x = true -> small r s n d (root r s n d bits x) = true.
  Proof.
    intros r s n d H0. induction bits as [|m IH]; intros x Hx; [exact Hx|].
    cbn [root]. destruct (small r s n d (x + 2 ^ Z.of_nat m)) eqn:H; apply IH; assumption.
  Qed.

  Lemma small_zero : forall r s n d, 0 < d -> small r (S s) n d 0 = true.
  Proof.
    intros. unfold small. simpl (0 <=? 0). rewrite Z.pow_0_l by lia. cbn [andb]. apply Z.leb_le.
    rewrite Z.mul_0_l. apply Z.mul_nonneg_nonneg; apply Z.pow_nonneg; lia.
  Qed.

  Theorem below_exp : forall l p q (E : F),
    sound l = true -> below l p q = true -> is_exp E l ->
    le (of_Z p) (mul E (of_Z q)).
  Proof.
    intros l p q E Hs Hb HE. unfold below in Hb.
    apply andb_prop in Hb as [Hpq Hb]. apply andb_prop in Hpq as [Hp Hq].
    apply Z.ltb_lt in Hp, Hq. apply Z.leb_le in Hb || idtac.
    destruct l as [a b | r s n d]; simpl in Hs.
    - apply andb_prop in Hs as [Ha Hb0]. apply Z.leb_le in Ha, Hb. apply Z.ltb_lt in Hb0.
      destruct HE as [Hlow _].
      destruct (low_sound a b Ha Hb0) as [k Hk].
      pose proof (bottom_pos b Hb0 k) as Hbot.
      apply (le_cancel F (unit * bottom b k)); [pose proof unit_pos; nia|].
      rewrite <- (of_Z_mul F).
      apply (le_trans F _ (of_Z (unit * top a b k * q))).
      + apply (of_Z_le F).
        apply Z.le_trans with (low a b * q * bottom b k); [|nia].
        replace (unit * bottom b k * p) with (p * unit * bottom b k) by ring.
        apply Z.mul_le_mono_nonneg_r; lia.
      + replace (mul (of_Z (unit * bottom b k)) (mul E (of_Z q)))
          with (mul (of_Z (unit * q)) (mul E (of_Z (bottom b k)))).
        * replace (unit * top a b k * q) with (unit * q * top a b k) by ring.
          rewrite (of_Z_mul F). apply mul_le_l; [apply of_Z_nonneg; pose proof unit_pos; nia | apply Hlow].
        * rewrite !(of_Z_mul F). ring.
    - apply andb_prop in Hs as [Hs Hs0]. apply andb_prop in Hs as [Hn Hd].
      apply Z.ltb_lt in Hn, Hd. apply Z.leb_le in Hb. apply Nat.ltb_lt in Hs0.
      destruct HE as [HE0 HE]. destruct s as [|s]; [lia|].
      apply (root_le F _ _ p s); [|lia|apply (le_refl F)|].
      + apply (le_mul F); [exact HE0 | apply of_Z_nonneg; lia].
      + rewrite power_mul, !power_of_Z.
        apply (le_cancel F (d ^ Z.of_nat r)); [apply Z.pow_pos_nonneg; lia|].
        replace (mul (of_Z (d ^ Z.of_nat r)) (mul (power E (S s)) (of_Z (q ^ Z.of_nat (S s)))))
          with (mul (mul (power E (S s)) (of_Z (d ^ Z.of_nat r))) (of_Z (q ^ Z.of_nat (S s))))
          by ring.
        rewrite HE, <- !(of_Z_mul F). apply (of_Z_le F). lia.
  Qed.

  Lemma alpha_of_nonneg : forall l, sound l = true -> 0 <= alpha_of l.
  Proof.
    intros l Hs. destruct l as [a b | r s n d]; simpl in Hs.
    - apply andb_prop in Hs as [Ha Hb]. apply Z.leb_le in Ha. apply Z.ltb_lt in Hb.
      pose proof (high_sound a b Ha Hb 0%nat) as Hsound. change (top a b 0) with 1 in Hsound.
      change (bottom b 0) with 1 in Hsound. rewrite !Z.mul_1_r in Hsound.
      change (alpha_of (Natural a b)) with (unit * 2 ^ 62 / high a b).
      pose proof unit_pos. apply Z.div_pos; [apply Z.mul_nonneg_nonneg|]; lia.
    - apply andb_prop in Hs as [Hs Hs0]. apply andb_prop in Hs as [Hn Hd].
      apply Z.ltb_lt in Hn, Hd. apply Nat.ltb_lt in Hs0. destruct s as [|s]; [lia|].
      change (alpha_of (Power r (S s) n d)) with (root r (S s) n d 63 0).
      assert (H0 : small r (S s) n d 0 = true) by now apply small_zero.
      generalize (small_root r (S s) n d H0 63 0 H0). generalize (root r (S s) n d 63 0).
      intros x Hx. unfold small in Hx. apply andb_prop in Hx as [Hx _]. now apply Z.leb_le.
  Qed.

  Opaque unit high low root.

  Theorem alpha_exp : forall l (E : F), sound l = true -> is_exp E l ->
    0 <= alpha_of l /\ le (mul (of_Z (alpha_of l)) E) (of_Z (2 ^ 62)).
  Proof.
    intros l E Hs HE. destruct l as [a b | r s n d]; simpl in Hs.
    - apply andb_prop in Hs as [Ha Hb]. apply Z.leb_le in Ha. apply Z.ltb_lt in Hb.
      destruct HE as [_ Hhigh]. pose proof (high_sound a b Ha Hb) as Hsound.
      assert (Hpos : 0 < high a b).
      { specialize (Hsound 0%nat). change (top a b 0) with 1 in Hsound.
        change (bottom b 0) with 1 in Hsound. rewrite !Z.mul_1_r in Hsound.
        apply Z.lt_le_trans with unit; [pose proof unit_pos; lia | exact Hsound]. }
      specialize (Hhigh (high a b) unit ltac:(pose proof unit_pos; lia)).
      change (alpha_of (Natural a b)) with (unit * 2 ^ 62 / high a b).
      set (A := unit * 2 ^ 62 / high a b).
      assert (HA : 0 <= A) by (apply Z.div_pos; pose proof unit_pos; lia).
      split; [exact HA|].
      apply (le_cancel F unit); [pose proof unit_pos; lia|].
      apply (le_trans F _ (mul (of_Z A) (of_Z (high a b)))).
      + replace (mul (of_Z unit) (mul (of_Z A) E)) with (mul (of_Z A) (mul E (of_Z unit))) by ring.
        apply mul_le_l; [apply of_Z_nonneg; exact HA|]. apply Hhigh. intros k.
        specialize (Hsound k). lia.
      + rewrite <- !(of_Z_mul F). apply (of_Z_le F).
        pose proof (Z.mul_div_le (unit * 2 ^ 62) (high a b) Hpos). unfold A. lia.
    - apply andb_prop in Hs as [Hs Hs0]. apply andb_prop in Hs as [Hn Hd].
      apply Z.ltb_lt in Hn, Hd. apply Nat.ltb_lt in Hs0.
      destruct HE as [HE0 HE]. destruct s as [|s]; [lia|].
      assert (H0 : small r (S s) n d 0 = true).
      { now apply small_zero. }
      change (alpha_of (Power r (S s) n d)) with (root r (S s) n d 63 0).
      generalize (small_root r (S s) n d H0 63 0 H0). generalize (root r (S s) n d 63 0).
      intros x Hx. unfold small in Hx. apply andb_prop in Hx as [Hx0 Hx].
      apply Z.leb_le in Hx0, Hx. split; [exact Hx0|].
      destruct (le_total F (mul (of_Z x) E) (of_Z (2 ^ 62))) as [H|H]; [exact H|].
      apply (root_le F _ _ (2 ^ 62) s); [apply of_Z_nonneg; lia | lia | exact H |].
      rewrite power_mul, !power_of_Z.
      apply (le_cancel F (d ^ Z.of_nat r)); [apply Z.pow_pos_nonneg; lia|].
      replace (mul (of_Z (d ^ Z.of_nat r)) (mul (of_Z (x ^ Z.of_nat (S s))) (power E (S s))))
        with (mul (of_Z (x ^ Z.of_nat (S s))) (mul (power E (S s)) (of_Z (d ^ Z.of_nat r))))
        by ring.
      rewrite HE, <- !(of_Z_mul F). apply (of_Z_le F). lia.
  Qed.
End Promise.
