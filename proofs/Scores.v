(** * Permute-and-flip with rounded weights (_scores_ weights)

    Every value has a score. At gap g (its score is g below the best) a value weighs w_g, with
    w_0 = 2^bits and w_(g+1) = ⌈w_g·q/p⌉. One of the values that are left is considered, all with
    the same chance, and accepted with probability w/2^bits; if not, it is put aside. *)

From Coq Require Import ZArith List Ring Lia Bool.
From Tightrope Require Import Numbers Exponential Questions Tables.
Import ListNotations.
Open Scope Z_scope.

(** ** The draw *)
Definition without (s : Z) (l : list Z) : list Z := filter (fun t => negb (t =? s)) l.

Lemma in_without : forall s t l, In t (without s l) <-> In t l /\ t <> s.
Proof. intros. unfold without. rewrite filter_In, negb_true_iff, Z.eqb_neq. tauto. Qed.

Lemma without_swap : forall s t l, without t (without s l) = without s (without t l).
Proof.
  intros s t. induction l as [|a l IH]; [reflexivity|]. unfold without in *. cbn [filter].
  destruct (a =? s) eqn:Hs; destruct (a =? t) eqn:Ht; cbn [negb filter]; rewrite ?Hs, ?Ht; cbn [negb];
    now rewrite IH.
Qed.

Lemma without_absent : forall s l, ~ In s l -> without s l = l.
Proof.
  intros s. induction l as [|a l IH]; intros H; [reflexivity|]. unfold without in *. cbn [filter].
  destruct (Z.eqb_spec a s) as [->|Hne]; [exfalso; apply H; now left|]. cbn [negb]. f_equal.
  apply IH. intros Hin. apply H. now right.
Qed.

Lemma without_length : forall s l, NoDup l -> In s l -> length l = S (length (without s l)).
Proof.
  intros s l H. induction H as [|a l Ha H IH]; intros Hin; [destruct Hin|]. unfold without. cbn [filter].
  fold (without s l). destruct (Z.eqb_spec a s) as [->|Hne]; cbn [negb length]; f_equal.
  - now rewrite without_absent.
  - apply IH. destruct Hin; [contradiction | assumption].
Qed.

Section Draw.
  Variable F : numbers.
  Add Ring ring_of_scores : (ring_laws F).
  Local Open Scope num_scope.

  (** The chance that value r is the output when the n values of l are left, where f is the chance
      that a value is accepted. *)
  Fixpoint drawn (f : Z -> F) (n : nat) (l : list Z) (r : Z) : F :=
    match n with
    | O => 0
    | S m => over (Z.of_nat n)
        * sum l (fun s => if (s =? r)%Z then f s else (1 - f s) * drawn f m (without s l) r)
    end.

  (** The chance that a value is considered before any of the n others is accepted. *)
  Fixpoint reached (f : Z -> F) (n : nat) (l : list Z) : F :=
    match n with
    | O => 1
    | S m => over (Z.of_nat (S n)) * (1 + sum l (fun s => (1 - f s) * reached f m (without s l)))
    end.

  Lemma sum_without : forall r l (g : Z -> F), NoDup l -> In r l -> sum l g = g r + sum (without r l) g.
  Proof.
    intros r l g H. induction H as [|a l Ha H IH]; intros Hin; [destruct Hin|]. unfold without. cbn [filter].
    fold (without r l). destruct (Z.eqb_spec a r) as [->|Hne]; cbn [negb sum fold_right].
    - now rewrite without_absent.
    - fold (sum l g) (sum (without r l) g). rewrite IH; [ring|]. destruct Hin; [contradiction | assumption].
  Qed.

  Lemma nodup_without : forall s l, NoDup l -> NoDup (without s l).
  Proof. intros. now apply NoDup_filter. Qed.

  Lemma nat_over : forall n, of_Z (Z.of_nat (S n)) * over (Z.of_nat (S n)) = (1 : F).
  Proof. intros. apply (over_law F). lia. Qed.

  Lemma reached_step : forall f n l, of_Z (Z.of_nat (S (S n))) * reached f (S n) l
    = 1 + sum l (fun s => (1 - f s) * reached f n (without s l)).
  Proof.
    intros. cbn [reached]. set (rest := 1 + sum l _). set (k := Z.of_nat (S (S n))).
    replace (of_Z k * (over k * rest)) with ((of_Z k * over k) * rest) by ring.
    unfold k. rewrite nat_over. ring.
  Qed.

  (** "It is output if it is considered, and then accepted." *)
  Lemma drawn_reached : forall f n l r, NoDup l -> In r l -> length l = S n ->
    drawn f (S n) l r = f r * reached f n (without r l).
  Proof.
    intros f. induction n as [|n IH]; intros l r Hl Hr Hn; cbn [drawn];
      rewrite (sum_without r l _ Hl Hr), Z.eqb_refl.
    - pose proof (without_length r l Hl Hr) as Hlen. destruct (without r l); [|simpl in Hlen; lia].
      cbn [sum fold_right reached]. replace (f r + 0) with (f r) by ring.
      replace (over (Z.of_nat 1)) with (1 : F); [ring|]. rewrite <- (nat_over 0).
      change (Z.of_nat 1) with 1%Z. rewrite (of_Z_one F). ring.
    - cbn [reached]. rewrite (sum_ext F _ (without r l) _
        (fun s => f r * ((1 - f s) * reached f n (without s (without r l))))).
      + rewrite sum_mul. ring.
      + intros s Hs. apply in_without in Hs as [Hs Hne].
        replace (s =? r)%Z with false by (symmetry; now apply Z.eqb_neq).
        change (over (Z.of_nat (S n)) * sum (without s l) (fun s0 => if (s0 =? r)%Z then f s0
          else (1 - f s0) * drawn f n (without s0 (without s l)) r)) with (drawn f (S n) (without s l) r).
        rewrite IH; [rewrite (without_swap s r); ring | now apply nodup_without | |].
        * apply in_without. split; [exact Hr | congruence].
        * pose proof (without_length s l Hl Hs). lia.
  Qed.

  (** What is summed over ordered pairs of different values may be summed the other way round. *)
  Lemma pairs_swap : forall l (g : Z -> Z -> F),
    sum l (fun s => sum (without s l) (g s)) = sum l (fun t => sum (without t l) (fun s => g s t)).
  Proof.
    intros. unfold without.
    rewrite (sum_ext F _ l _ (fun s => sum l (fun t => if negb (t =? s)%Z then g s t else 0)))
      by (intros; apply sum_filter).
    rewrite sum_swap. apply sum_ext. intros t _. rewrite sum_filter. apply sum_ext. intros s _.
    now rewrite Z.eqb_sym.
  Qed.

  Definition accepted (f : Z -> F) (n : nat) (l : list Z) : F :=
    sum l (fun s => f s * reached f n (without s l)).

  (** Nothing is accepted at once, or a value is, or it is put aside and another one is. *)
  Lemma accepted_step : forall f n l, of_Z (Z.of_nat (S (S n))) * accepted f (S n) l
    = sum l (fun s => f s + (1 - f s) * accepted f n (without s l)).
  Proof.
    intros. unfold accepted. rewrite <- sum_mul, sum_add.
    rewrite (sum_ext F _ l _ (fun s => f s + sum (without s l)
      (fun t => f s * ((1 - f t) * reached f n (without t (without s l)))))).
    - rewrite sum_add, (pairs_swap l). f_equal. apply sum_ext. intros t _. rewrite <- sum_mul.
      apply sum_ext. intros s _. rewrite (without_swap s t). ring.
    - intros s _. rewrite sum_mul.
      replace (of_Z (Z.of_nat (S (S n))) * (f s * reached f (S n) (without s l)))
        with (f s * (of_Z (Z.of_nat (S (S n))) * reached f (S n) (without s l))) by ring.
      rewrite reached_step. ring.
  Qed.

  Lemma sum_ones : forall (l : list Z), sum l (fun _ => 1) = of_Z (Z.of_nat (length l)) :> F.
  Proof.
    induction l as [|a l IH]; [symmetry; apply of_Z_zero|]. cbn [sum fold_right length].
    fold (sum l (fun _ => 1 : F)). rewrite IH, Nat2Z.inj_succ.
    replace (Z.succ (Z.of_nat (length l))) with (1 + Z.of_nat (length l))%Z by lia.
    now rewrite (of_Z_add F), (of_Z_one F).
  Qed.

  Definition chances (f : Z -> F) (l : list Z) : Prop := forall s, In s l -> 0 <= f s /\ f s <= 1.

  Lemma chances_without : forall f s l, chances f l -> chances f (without s l).
  Proof. intros f s l H t Ht. apply in_without in Ht as [Ht _]. auto. Qed.

  Lemma reached_nonneg : forall f n l, chances f l -> 0 <= reached f n l.
  Proof.
    intros f. induction n as [|n IH]; intros l Hl; cbn [reached].
    - rewrite <- (of_Z_one F). apply of_Z_nonneg. lia.
    - apply (le_mul F); [apply over_nonneg; lia|]. apply add_nonneg.
      + rewrite <- (of_Z_one F). apply of_Z_nonneg. lia.
      + apply sum_nonneg. intros s Hs. apply (le_mul F); [apply sub_le, Hl, Hs|].
        apply IH. now apply chances_without.
  Qed.

  (** "At most one value is accepted." *)
  Lemma accepted_most : forall f n l, chances f l -> NoDup l -> length l = S n -> accepted f n l <= 1.
  Proof.
    intros f. induction n as [|n IH]; intros l Hl Hd Hn.
    - destruct l as [|a [|]]; simpl in Hn; try lia. unfold accepted. cbn [sum fold_right reached].
      replace (f a * 1 + 0) with (f a) by ring. apply Hl. now left.
    - apply (le_cancel F (Z.of_nat (S (S n)))); [lia|]. rewrite accepted_step.
      replace (of_Z (Z.of_nat (S (S n))) * 1) with (of_Z (Z.of_nat (S (S n))) : F) by ring.
      rewrite <- Hn, <- sum_ones. apply sum_le. intros s Hs. destruct (Hl s Hs) as [_ H1].
      apply le_sub. replace (1 - (f s + (1 - f s) * accepted f n (without s l)))
        with ((1 - f s) * (1 - accepted f n (without s l))) by ring.
      apply (le_mul F); apply sub_le; [exact H1|].
      apply IH; [now apply chances_without | now apply nodup_without|].
      pose proof (without_length s l Hd Hs). lia.
  Qed.

  (** "A value at the best score is accepted for certain, so there always is an output." *)
  Theorem drawn_total : forall f n l best, NoDup l -> In best l -> f best = 1 -> length l = S n ->
    sum l (drawn f (S n) l) = 1.
  Proof.
    intros f n l best Hd Hb H1 Hn.
    rewrite (sum_ext F _ l _ (fun r => f r * reached f n (without r l)))
      by (intros r Hr; now apply drawn_reached).
    change (accepted f n l = 1). revert l Hd Hb Hn.
    induction n as [|n IH]; intros l Hd Hb Hn.
    - destruct l as [|a [|]]; simpl in Hn; try lia. destruct Hb as [->|[]].
      unfold accepted. cbn [sum fold_right reached]. rewrite H1. ring.
    - assert (Hstep : of_Z (Z.of_nat (S (S n))) * accepted f (S n) l = of_Z (Z.of_nat (S (S n)))).
      { rewrite accepted_step, <- Hn, <- sum_ones. apply sum_ext. intros s Hs.
        destruct (Z.eq_dec s best) as [->|Hne]; [rewrite H1; ring|]. rewrite IH; [ring | now apply nodup_without | |].
        - apply in_without. split; [exact Hb | congruence].
        - pose proof (without_length s l Hd Hs). lia. }
      transitivity (over (Z.of_nat (S (S n))) * (of_Z (Z.of_nat (S (S n))) * accepted f (S n) l)).
      + replace (over (Z.of_nat (S (S n))) * (of_Z (Z.of_nat (S (S n))) * accepted f (S n) l))
          with ((of_Z (Z.of_nat (S (S n))) * over (Z.of_nat (S (S n)))) * accepted f (S n) l) by ring.
        rewrite nat_over. ring.
      + rewrite Hstep.
        replace (over (Z.of_nat (S (S n))) * of_Z (Z.of_nat (S (S n))) : F)
          with (of_Z (Z.of_nat (S (S n))) * over (Z.of_nat (S (S n))) : F) by ring.
        apply nat_over.
  Qed.

  (** "If the others are accepted at most c times as often, a value is considered at least 1/c
      times as often." *)
  Theorem reached_ratio : forall (f g : Z -> F) c n l, chances f l -> chances g l -> NoDup l -> length l = n ->
    1 <= c -> (forall s, In s l -> g s <= c * f s) -> reached f n l <= c * reached g n l.
  Proof.
    intros f g c. induction n as [|n IH]; intros l Hf Hg Hd Hn Hc Hs; [cbn [reached]; now replace (c * 1) with c by ring|].
    apply (le_cancel F (Z.of_nat (S (S n)))); [lia|].
    replace (of_Z (Z.of_nat (S (S n))) * (c * reached g (S n) l))
      with (c * (of_Z (Z.of_nat (S (S n))) * reached g (S n) l)) by ring.
    rewrite !reached_step.
    assert (Hc0 : 0 <= c).
    { apply (le_trans F _ 1); [|exact Hc]. rewrite <- (of_Z_one F). apply of_Z_nonneg. lia. }
    (* c·(1 - f) - c·(1 - g) <= (c - 1)·g, and at most one of the others is accepted. *)
    apply (le_trans F _ (1 + sum l (fun s => (1 - f s) * (c * reached g n (without s l))))).
    - apply add_le; [apply (le_refl F)|]. apply sum_le. intros s Hin.
      apply mul_le_l; [apply sub_le, Hf, Hin|].
      apply IH; auto using chances_without, nodup_without.
      + pose proof (without_length s l Hd Hin). lia.
      + intros t Ht. apply in_without in Ht as [Ht _]. auto.
    - pose proof (accepted_most g n l Hg Hd Hn) as Hone. unfold accepted in Hone.
      apply (le_trans F _ (1 + (c * sum l (fun s => (1 - g s) * reached g n (without s l))
        + (c - 1) * sum l (fun s => g s * reached g n (without s l))))).
      + apply add_le; [apply (le_refl F)|]. rewrite <- !sum_mul, <- sum_add. apply sum_le. intros s Hin.
        apply le_sub.
        replace (c * ((1 - g s) * reached g n (without s l)) + (c - 1) * (g s * reached g n (without s l))
          - (1 - f s) * (c * reached g n (without s l)))
          with ((c * f s - g s) * reached g n (without s l)) by ring.
        apply (le_mul F); [apply sub_le, Hs, Hin|]. apply reached_nonneg. now apply chances_without.
      + apply le_sub. replace (c * (1 + sum l (fun s => (1 - g s) * reached g n (without s l)))
          - (1 + (c * sum l (fun s => (1 - g s) * reached g n (without s l))
          + (c - 1) * sum l (fun s => g s * reached g n (without s l)))))
          with ((c - 1) * (1 - sum l (fun s => g s * reached g n (without s l)))) by ring.
        apply (le_mul F); apply sub_le; assumption.
  Qed.
End Draw.

(** ** Levels and gaps *)
Section Levels.
  Variables p q : Z.
  Hypothesis Hpq : 0 < q <= p.

  (** w_g, from w_0. *)
  Fixpoint level_at (w : Z) (g : nat) : Z :=
    match g with O => w | S h => level_at (up (w * q) p) h end.

  Lemma next_level : forall w, 0 <= w -> 0 <= up (w * q) p <= w /\ w * q <= up (w * q) p * p.
  Proof.
    intros w Hw. pose proof (up_le (w * q) p ltac:(lia)) as H. split; [|lia]. split; [nia|].
    unfold up. pose proof (Z.div_mod (- (w * q)) p ltac:(lia)) as Hd.
    pose proof (Z.mod_pos_bound (- (w * q)) p ltac:(lia)) as Hm. nia.
  Qed.

  (** "A level falls by at most p/q a step, and never rises." *)
  Lemma level_falls : forall t w g, 0 <= w ->
    0 <= level_at w (g + t) <= level_at w g
    /\ level_at w g * q ^ Z.of_nat t <= level_at w (g + t) * p ^ Z.of_nat t.
  Proof.
    assert (Hzero : forall t w, 0 <= w -> 0 <= level_at w t <= w
      /\ w * q ^ Z.of_nat t <= level_at w t * p ^ Z.of_nat t).
    { induction t as [|t IH]; intros w Hw; [cbn; lia|]. cbn [level_at].
      destruct (next_level w Hw) as [H1 H2]. destruct (IH _ (proj1 H1)) as [H3 H4]. split; [lia|].
      rewrite Nat2Z.inj_succ, !Z.pow_succ_r by lia.
      assert (0 <= q ^ Z.of_nat t) by (apply Z.pow_nonneg; lia).
      assert (0 <= p ^ Z.of_nat t) by (apply Z.pow_nonneg; lia).
      apply Z.le_trans with (up (w * q) p * p * q ^ Z.of_nat t); nia. }
    intros t w g. revert w. induction g as [|g IH]; intros w Hw; [now apply Hzero|].
    cbn [Nat.add level_at]. apply IH. apply next_level. exact Hw.
  Qed.
End Levels.

(** The best of the scores of values 0 … c-1, and how far a value is below it. *)
Definition best_of (S : Z -> Z) (l : list Z) : Z := fold_right (fun r most => Z.max (S r) most) (S 0) l.
Definition gap (S : Z -> Z) (l : list Z) (r : Z) : Z := best_of S l - S r.

Lemma best_most : forall S l r, In r l -> S r <= best_of S l.
Proof.
  intros S. induction l as [|a l IH]; intros r Hr; [destruct Hr|]. cbn [best_of fold_right].
  fold (best_of S l). destruct Hr as [->|Hr]; [|specialize (IH r Hr)]; lia.
Qed.

Lemma best_is_one : forall S l, In 0 l -> exists r, In r l /\ S r = best_of S l.
Proof.
  intros S l H0. assert (H : best_of S l = S 0 \/ exists r, In r l /\ S r = best_of S l).
  { clear H0. induction l as [|a l IH]; [now left|]. cbn [best_of fold_right]. fold (best_of S l).
    destruct (Z.max_spec (S a) (best_of S l)) as [[_ ->]|[_ ->]]; [|right; exists a; split; [now left | reflexivity]].
    destruct IH as [IH|[r [Hr IH]]]; [now left | right; exists r; split; [now right | exact IH]]. }
  destruct H as [H|H]; [|exact H]. now exists 0.
Qed.

(** One person moves two scores apart by at most T steps. *)
Definition apart (T : Z) (S S' : Z -> Z) : Prop := forall r s, Z.abs ((S r - S' r) - (S s - S' s)) <= T.

Lemma best_moves : forall T S S' l r, apart T S S' -> In 0 l ->
  best_of S' l - best_of S l <= S' r - S r + T.
Proof.
  intros T S S' l r H H0. destruct (best_is_one S' l H0) as [m [Hm Hbest]].
  pose proof (best_most S l m Hm). specialize (H r m). lia.
Qed.

(** ** The judge: (p/q)^T is at most e^ε *)
Definition check_scores (bits p q T : Z) (l : level) : bool :=
  (0 <=? bits) && (0 <? q) && (q <=? p) && (0 <=? T) && sound l && below l (p ^ T) (q ^ T).

Section Private.
  Variable F : numbers.
  Add Ring ring_of_private : (ring_laws F).
  Variables (bits p q T : Z) (l : level) (values : Z).
  Hypothesis checked : check_scores bits p q T l = true.
  Hypothesis Hvalues : 0 < values.

  Definition all_values : list Z := range values.
  (** The chance that a value is accepted, and that it is the output. *)
  Definition accept (S : Z -> Z) (r : Z) : F :=
    mul (of_Z (level_at p q (2 ^ bits) (Z.to_nat (gap S all_values r)))) (over (2 ^ bits)).
  Definition output (S : Z -> Z) (r : Z) : F := drawn F (accept S) (Z.to_nat values) all_values r.

  Lemma score_parts : 0 <= bits /\ 0 < q <= p /\ 0 <= T /\ sound l = true /\ below l (p ^ T) (q ^ T) = true.
  Proof.
    unfold check_scores in checked.
    repeat match goal with
      | H : _ && _ = true |- _ => apply andb_prop in H as [? ?]
      | H : (_ <=? _) = true |- _ => apply Z.leb_le in H
      | H : (_ <? _) = true |- _ => apply Z.ltb_lt in H end.
    repeat split; assumption.
  Qed.

  Lemma all_values_nodup : NoDup all_values.
  Proof.
    unfold all_values, range. generalize 0. induction (Z.to_nat values) as [|n IH]; intros i; constructor; [|apply IH].
    rewrite in_count_from. lia.
  Qed.

  Lemma all_values_length : length all_values = S (pred (Z.to_nat values)).
  Proof. unfold all_values, range. rewrite count_from_length. lia. Qed.

  Lemma whole_pos : 0 < 2 ^ bits.
  Proof. apply Z.pow_pos_nonneg; [lia|]. apply score_parts. Qed.

  Lemma accept_chance : forall S, chances F (accept S) all_values.
  Proof.
    intros S r _. destruct score_parts as [_ [Hpq _]]. pose proof whole_pos as Hpos.
    pose proof (level_falls p q Hpq (Z.to_nat (gap S all_values r)) (2 ^ bits) 0 ltac:(lia)) as [[H0 H1] _].
    cbn [Nat.add level_at] in H0, H1. unfold accept. split.
    - apply (le_mul F); [now apply of_Z_nonneg | now apply over_nonneg].
    - rewrite <- (over_law F (2 ^ bits) Hpos).
      set (w := level_at p q (2 ^ bits) (Z.to_nat (gap S all_values r))) in *.
      replace (mul (of_Z w) (over (2 ^ bits))) with (mul (over (2 ^ bits)) (of_Z w) : F) by ring.
      replace (mul (of_Z (2 ^ bits)) (over (2 ^ bits))) with (mul (over (2 ^ bits)) (of_Z (2 ^ bits)) : F) by ring.
      apply mul_le_l; [now apply over_nonneg | now apply (of_Z_le F)].
  Qed.

  (** A gap that grows by at most t: what is accepted falls by at most (p/q)^t. *)
  Lemma accept_falls : forall S S' r t, 0 <= t -> In r all_values ->
    gap S' all_values r <= gap S all_values r + t ->
    le (accept S r) (mul (mul (of_Z (p ^ t)) (over (q ^ t))) (accept S' r)).
  Proof.
    intros S S' r t Ht Hr Hgap. destruct score_parts as [_ [Hpq _]]. pose proof whole_pos as Hpos.
    assert (Hq : 0 < q ^ t) by (apply Z.pow_pos_nonneg; lia).
    assert (Hp : 0 <= p ^ t) by (apply Z.pow_nonneg; lia).
    pose proof (best_most S all_values r Hr) as H1. pose proof (best_most S' all_values r Hr) as H2.
    unfold gap in *. unfold accept, gap. set (a := best_of S all_values - S r) in *.
    set (b := best_of S' all_values - S' r) in *.
    assert (Hw : level_at p q (2 ^ bits) (Z.to_nat a) * q ^ t <= level_at p q (2 ^ bits) (Z.to_nat b) * p ^ t).
    { destruct (level_falls p q Hpq (Z.to_nat t) (2 ^ bits) (Z.to_nat a) ltac:(lia)) as [_ Hfall].
      rewrite Z2Nat.id in Hfall by lia.
      destruct (level_falls p q Hpq (Z.to_nat (a + t - b)) (2 ^ bits) (Z.to_nat b) ltac:(lia)) as [[_ Hrise] _].
      replace (Z.to_nat b + Z.to_nat (a + t - b))%nat with (Z.to_nat a + Z.to_nat t)%nat in Hrise by lia. nia. }
    apply (le_cancel F (q ^ t)); [exact Hq|].
    set (w := level_at p q (2 ^ bits) (Z.to_nat a)) in *. set (v := level_at p q (2 ^ bits) (Z.to_nat b)) in *.
    replace (mul (of_Z (q ^ t)) (mul (of_Z w) (over (2 ^ bits))))
      with (mul (over (2 ^ bits)) (mul (of_Z w) (of_Z (q ^ t))) : F) by ring.
    replace (mul (of_Z (q ^ t)) (mul (mul (of_Z (p ^ t)) (over (q ^ t))) (mul (of_Z v) (over (2 ^ bits)))))
      with (mul (over (2 ^ bits)) (mul (mul (of_Z (q ^ t)) (over (q ^ t))) (mul (of_Z v) (of_Z (p ^ t)))) : F) by ring.
    rewrite (over_law F _ Hq). replace (mul one (mul (of_Z v) (of_Z (p ^ t)))) with (mul (of_Z v) (of_Z (p ^ t)) : F) by ring.
    apply mul_le_l; [now apply over_nonneg|]. rewrite <- !(of_Z_mul F). now apply (of_Z_le F).
  Qed.

  (** "There always is an output, and one person changes its chances by at most e^ε." *)
  Theorem scores_sound : forall E : F, is_exp E l ->
    (forall S, sum all_values (output S) = one) /\
    (forall S S' r, apart T S S' -> In r all_values -> le (output S r) (mul E (output S' r))).
  Proof.
    intros E HE. destruct score_parts as [Hbits [Hpq [HT [Hsound Hbelow]]]].
    pose proof (below_exp F l _ _ E Hsound Hbelow HE) as Hratio. pose proof whole_pos as Hpos.
    assert (H0 : In 0 all_values) by (apply in_range; lia).
    unfold output. rewrite <- (count_from_length (Z.to_nat values) 0).
    change (count_from (Z.to_nat values) 0) with all_values. rewrite all_values_length. split.
    - intros S. destruct (best_is_one S all_values H0) as [m [Hm Hbest]].
      apply (drawn_total F _ _ _ m); auto using all_values_nodup, all_values_length.
      unfold accept, gap. rewrite Hbest, Z.sub_diag. cbn [Z.to_nat level_at]. now apply (over_law F).
    - intros S S' r Hapart Hr.
      rewrite !drawn_reached by auto using all_values_nodup, all_values_length.
      assert (Happly : forall s, In s all_values -> gap S' all_values s <= gap S all_values s + T).
      { intros s Hs. pose proof (best_moves T S S' all_values s Hapart H0). unfold gap. lia. }
      (* The gap of r grows by at most t, and those of the others fall by at most T - t. *)
      set (t := Z.max 0 (gap S' all_values r - gap S all_values r)).
      assert (Ht : 0 <= t <= T) by (pose proof (Happly r Hr); unfold t; lia).
      assert (Hback : apart T S' S) by (intros a b; specialize (Hapart b a); lia).
      assert (Hothers : forall s, In s all_values -> gap S all_values s <= gap S' all_values s + (T - t)).
      { intros s Hs. pose proof (best_moves T S' S all_values s Hback H0). specialize (Hapart r s).
        unfold t, gap in *. lia. }
      set (ct := mul (of_Z (p ^ t)) (over (q ^ t)) : F). set (c := mul (of_Z (p ^ (T - t))) (over (q ^ (T - t))) : F).
      assert (Hq : forall k, 0 <= k -> 0 < q ^ k) by (intros; apply Z.pow_pos_nonneg; lia).
      assert (Hcone : le one c).
      { apply (le_cancel F (q ^ (T - t))); [apply Hq; lia|]. unfold c.
        replace (mul (of_Z (q ^ (T - t))) one) with (of_Z (q ^ (T - t)) : F) by ring.
        replace (mul (of_Z (q ^ (T - t))) (mul (of_Z (p ^ (T - t))) (over (q ^ (T - t)))))
          with (mul (of_Z (p ^ (T - t))) (mul (of_Z (q ^ (T - t))) (over (q ^ (T - t)))) : F) by ring.
        rewrite (over_law F) by (apply Hq; lia).
        replace (mul (of_Z (p ^ (T - t))) one) with (of_Z (p ^ (T - t)) : F) by ring.
        apply (of_Z_le F). apply Z.pow_le_mono_l. lia. }
      assert (Hmine : le (accept S r) (mul ct (accept S' r))) by (apply accept_falls; [lia | exact Hr | unfold t; lia]).
      pose proof (reached_ratio F (accept S) (accept S') c (pred (Z.to_nat values)) (without r all_values)
        (chances_without F _ _ _ (accept_chance S)) (chances_without F _ _ _ (accept_chance S'))
        (nodup_without r _ all_values_nodup)) as Hreached.
      specialize (Hreached ltac:(pose proof (without_length r _ all_values_nodup Hr);
        rewrite all_values_length in *; lia) Hcone).
      assert (Hle : forall s, In s (without r all_values) -> le (accept S' s) (mul c (accept S s))).
      { intros s Hs. apply in_without in Hs as [Hs _]. apply accept_falls; [lia | exact Hs | now apply Hothers]. }
      specialize (Hreached Hle).
      set (n := pred (Z.to_nat values)) in *. set (others := without r all_values) in *.
      assert (Hr1 : le zero (reached F (accept S) n others)) by (apply reached_nonneg, chances_without, accept_chance).
      assert (Hr2 : le zero (reached F (accept S') n others)) by (apply reached_nonneg, chances_without, accept_chance).
      destruct (accept_chance S' r Hr) as [Ha2 _].
      assert (Hct : le zero ct).
      { apply (le_mul F); [apply of_Z_nonneg, Z.pow_nonneg; lia | apply over_nonneg, Hq; lia]. }
      (* f·G <= (p/q)^t·f'·G <= (p/q)^t·f'·(p/q)^(T-t)·G' *)
      apply (le_trans F _ (mul (mul ct (accept S' r)) (reached F (accept S) n others))).
      { replace (mul (accept S r) (reached F (accept S) n others))
          with (mul (reached F (accept S) n others) (accept S r)) by ring.
        replace (mul (mul ct (accept S' r)) (reached F (accept S) n others))
          with (mul (reached F (accept S) n others) (mul ct (accept S' r))) by ring.
        now apply mul_le_l. }
      apply (le_trans F _ (mul (mul ct (accept S' r)) (mul c (reached F (accept S') n others)))).
      { apply mul_le_l; [now apply (le_mul F) | exact Hreached]. }
      replace (mul (mul ct (accept S' r)) (mul c (reached F (accept S') n others)))
        with (mul (mul (accept S' r) (reached F (accept S') n others)) (mul ct c)) by ring.
      replace (mul E (mul (accept S' r) (reached F (accept S') n others)))
        with (mul (mul (accept S' r) (reached F (accept S') n others)) E) by ring.
      apply mul_le_l; [now apply (le_mul F)|].
      apply (le_cancel F (q ^ T)); [apply Hq; lia|].
      replace (mul (of_Z (q ^ T)) (mul ct c)) with (of_Z (p ^ T) : F);
        [now replace (mul (of_Z (q ^ T)) E) with (mul E (of_Z (q ^ T))) by ring|].
      replace (p ^ T) with (p ^ t * p ^ (T - t)) by (rewrite <- Z.pow_add_r by lia; f_equal; lia).
      replace (q ^ T) with (q ^ t * q ^ (T - t)) by (rewrite <- Z.pow_add_r by lia; f_equal; lia).
      rewrite !(of_Z_mul F). unfold ct, c.
      transitivity (mul (mul (of_Z (p ^ t)) (of_Z (p ^ (T - t))))
        (mul (mul (of_Z (q ^ t)) (over (q ^ t))) (mul (of_Z (q ^ (T - t))) (over (q ^ (T - t))))) : F); [|ring].
      rewrite !(over_law F) by (apply Hq; lia). ring.
  Qed.
End Private.

(** ** The scores of a table

    Each person has at most k rows, and each row one of the values 0 … c-1. *)
Inductive score_question :=
| Commonest (c k : Z)
| Quantile (t D c k : Z).                  (* of rank t/D *)

Definition values_of (q : score_question) : Z := match q with Commonest c _ | Quantile _ _ c _ => c end.
Definition rows_of (q : score_question) : Z := match q with Commonest _ k | Quantile _ _ _ k => k end.

Definition added_up (g : Z -> Z) (rows : list Z) : Z := fold_right (fun row rest => g row + rest) 0 rows.
Definition over_table (g : Z -> Z) (D : list (list Z)) : Z := added_up g (concat D).

(** "Its count", and "minus its gap max(0, D·L - t·n, t·n - D·U), with L people below it, U not above
    it and n in all". *)
Definition below_it (t D v row : Z) : Z := (if row <? v then D else 0) - t.
Definition not_above (t D v row : Z) : Z := (if row <=? v then D else 0) - t.
Definition score (q : score_question) (table : list (list Z)) (v : Z) : Z :=
  match q with
  | Commonest _ _ => over_table (fun row => if row =? v then 1 else 0) table
  | Quantile t D _ _ =>
      - Z.max 0 (Z.max (over_table (below_it t D v) table) (- over_table (not_above t D v) table))
  end.

(** T: the most steps by which one person moves two scores apart. *)
Definition steps_of (q : score_question) (r : relation) : Z :=
  match q, r with
  | Commonest _ k, AddRemove => k
  | Commonest _ k, _ => 2 * k
  | Quantile t D _ k, AddRemove => 2 * k * Z.max t (D - t)
  | Quantile t D _ k, _ => 2 * k * D
  end.

Definition sound_question (q : score_question) : bool :=
  (0 <? values_of q) && (0 <? rows_of q) &&
  match q with Commonest _ _ => true | Quantile t D _ _ => (0 <? t) && (t <? D) end.

(** At most k rows a person, each with one of the values. *)
Definition allowed (q : score_question) (table : list (list Z)) : Prop :=
  Forall (fun rows => Z.of_nat (length rows) <= rows_of q /\ Forall (fun v => 0 <= v < values_of q) rows) table.

Lemma added_up_app : forall g a b, added_up g (a ++ b) = added_up g a + added_up g b.
Proof.
  intros g a b. unfold added_up. induction a as [|x a IH]; [reflexivity|]. cbn [app fold_right]. lia.
Qed.

Lemma added_up_sub : forall g h a, added_up g a - added_up h a = added_up (fun x => g x - h x) a.
Proof.
  induction a as [|x a IH]; [reflexivity|]. cbn [added_up fold_right].
  fold (added_up g a) (added_up h a) (added_up (fun x => g x - h x) a). lia.
Qed.

Lemma added_up_within : forall g low high k rows, (forall x, low <= g x <= high) -> low <= 0 <= high ->
  Z.of_nat (length rows) <= k -> k * low <= added_up g rows <= k * high.
Proof.
  intros g low high k rows Hg Hz Hk.
  assert (H : Z.of_nat (length rows) * low <= added_up g rows <= Z.of_nat (length rows) * high); [|nia].
  clear Hk. induction rows as [|x rows IH]; [cbn; lia|]. cbn [added_up fold_right length].
  fold (added_up g rows). specialize (Hg x). lia.
Qed.

(** "One person moves a sum over rows by at most k times what one row can add, or, if the person
    changes, by the whole range." *)
Lemma person_moves : forall q r n D D' g low high, allowed q D -> allowed q D' -> neighbouring r n D D' ->
  (forall x, low <= g x <= high) -> low <= 0 <= high -> 0 <= rows_of q ->
  Z.abs (over_table g D - over_table g D')
  <= rows_of q * match r with AddRemove => Z.max (- low) high | _ => high - low end.
Proof.
  intros q r n D D' g low high HD HD' Hn Hg Hz Hk. unfold over_table.
  assert (Hperson : forall before x after, allowed q (before ++ x :: after) ->
    rows_of q * low <= added_up g x <= rows_of q * high).
  { intros before x after H. apply Forall_app in H as [_ H]. inversion H; subst.
    apply added_up_within; tauto. }
  assert (Hjoin : forall A B, allowed q B -> joined_by_one A B ->
    Z.abs (added_up g (concat A) - added_up g (concat B)) <= rows_of q * Z.max (- low) high).
  { intros A B HB [before [x [after [-> ->]]]]. pose proof (Hperson _ _ _ HB).
    rewrite !concat_app. cbn [concat]. rewrite !added_up_app. nia. }
  assert (Hchange : changed D D' ->
    Z.abs (added_up g (concat D) - added_up g (concat D')) <= rows_of q * (high - low)).
  { intros [before [x [y [after [-> ->]]]]]. pose proof (Hperson _ _ _ HD). pose proof (Hperson _ _ _ HD').
    rewrite !concat_app. cbn [concat]. rewrite !added_up_app. nia. }
  assert (Heither : joined_by_one D D' \/ joined_by_one D' D ->
    Z.abs (added_up g (concat D) - added_up g (concat D')) <= rows_of q * Z.max (- low) high).
  { intros [H|H]; [exact (Hjoin _ _ HD' H)|]. pose proof (Hjoin _ _ HD H). lia. }
  destruct r; cbn [neighbouring] in Hn.
  - apply Hchange, Hn.
  - apply Heither, Hn.
  - destruct Hn as [_ [_ [H|H]]]; [now apply Hchange|]. specialize (Heither H). nia.
Qed.

(** "T is how many steps one person can move two scores apart." *)
Theorem scores_apart : forall q r n D D', sound_question q = true -> allowed q D -> allowed q D' ->
  neighbouring r n D D' -> apart (steps_of q r) (score q D) (score q D').
Proof.
  intros q r n D D' Hq HD HD' Hn a b. unfold sound_question in Hq.
  apply andb_prop in Hq as [Hq Hrank]. apply andb_prop in Hq as [_ Hk]. apply Z.ltb_lt in Hk.
  destruct q as [c k|t d c k]; cbn [score steps_of rows_of] in *.
  - set (g := fun row => (if row =? a then 1 else 0) - (if row =? b then 1 else 0)).
    pose proof (person_moves (Commonest c k) r n D D' g (-1) 1 HD HD' Hn) as H. cbn [rows_of] in H.
    specialize (H ltac:(intros x; unfold g; destruct (x =? a); destruct (x =? b); lia) ltac:(lia) ltac:(lia)).
    unfold over_table in *.
    assert (Hapart : forall L, added_up (fun row => if row =? a then 1 else 0) L
      - added_up (fun row => if row =? b then 1 else 0) L = added_up g L) by (intros; apply added_up_sub).
    pose proof (Hapart (concat D)). pose proof (Hapart (concat D')). destruct r; lia.
  - apply andb_prop in Hrank as [Ht Hd]. apply Z.ltb_lt in Ht, Hd.
    assert (Hmoves : forall g, (forall x, - t <= g x <= d - t) -> Z.abs (over_table g D - over_table g D')
      <= k * match r with AddRemove => Z.max t (d - t) | _ => d end).
    { intros g Hg. pose proof (person_moves (Quantile t d c k) r n D D' g (- t) (d - t) HD HD' Hn Hg ltac:(lia)) as H.
      cbn [rows_of] in H. specialize (H ltac:(lia)).
      replace (- - t) with t in H by lia. replace (d - t - - t) with d in H by lia. exact H. }
    assert (Hbelow : forall v x, - t <= below_it t d v x <= d - t) by (intros; unfold below_it; destruct (_ <? _); lia).
    assert (Habove : forall v x, - t <= not_above t d v x <= d - t) by (intros; unfold not_above; destruct (_ <=? _); lia).
    (* A largest one of numbers moves no further than they do. *)
    set (m := k * match r with AddRemove => Z.max t (d - t) | _ => d end) in *.
    assert (Hgap : forall v, Z.abs (score (Quantile t d c k) D v - score (Quantile t d c k) D' v) <= m).
    { intros v. pose proof (Hmoves _ (Hbelow v)). pose proof (Hmoves _ (Habove v)). cbn [score]. lia. }
    pose proof (Hgap a) as Ha. pose proof (Hgap b) as Hb. cbn [score] in Ha, Hb.
    apply Z.le_trans with (2 * m); [clear - Ha Hb; lia | unfold m; destruct r; lia].
Qed.

(** Some value is at the quantile, so its gap is what its score lacks to 0. *)
Theorem quantile_exact : forall t D c k table, sound_question (Quantile t D c k) = true ->
  allowed (Quantile t D c k) table -> best_of (score (Quantile t D c k) table) (range c) = 0.
Proof.
  intros t D c k table Hq Htable. unfold sound_question in Hq. cbn [values_of] in Hq.
  apply andb_prop in Hq as [Hq Hrank]. apply andb_prop in Hq as [Hc _]. apply Z.ltb_lt in Hc.
  apply andb_prop in Hrank as [Ht Hd]. apply Z.ltb_lt in Ht, Hd.
  set (S := score (Quantile t D c k) table).
  assert (Hmost : forall v, S v <= 0) by (intros; unfold S; cbn [score]; lia).
  assert (Hrows : Forall (fun v => 0 <= v < c) (concat table)).
  { apply Forall_concat. eapply Forall_impl; [|exact Htable]. cbn beta. intros rows [_ H]. exact H. }
  assert (Hnone : over_table (below_it t D 0) table <= 0).
  { unfold over_table. induction Hrows as [|x rows Hx Hrows IH]; [reflexivity|]. cbn [added_up fold_right].
    fold (added_up (below_it t D 0) rows). unfold below_it at 1.
    replace (x <? 0) with false by (symmetry; apply Z.ltb_ge; lia). lia. }
  assert (Hlast : 0 <= over_table (not_above t D (c - 1)) table).
  { unfold over_table. clear Hnone. induction Hrows as [|x rows Hx Hrows IH]; [reflexivity|]. cbn [added_up fold_right].
    fold (added_up (not_above t D (c - 1)) rows). unfold not_above at 1.
    replace (x <=? c - 1) with true by (symmetry; apply Z.leb_le; lia). lia. }
  assert (Hshift : forall v, over_table (below_it t D (v + 1)) table = over_table (not_above t D v) table).
  { intros v. unfold over_table. clear. induction (concat table) as [|x rows IH]; [reflexivity|].
    cbn [added_up fold_right]. fold (added_up (below_it t D (v + 1)) rows) (added_up (not_above t D v) rows).
    rewrite IH. unfold below_it, not_above. f_equal. f_equal.
    destruct (Z.ltb_spec x (v + 1)); destruct (Z.leb_spec x v); lia. }
  (* The first value with D·U >= t·n has D·L <= t·n. *)
  assert (Hfirst : forall m, Z.of_nat m <= c ->
    (exists v, 0 <= v < Z.of_nat m /\ S v = 0) \/ over_table (below_it t D (Z.of_nat m)) table <= 0).
  { induction m as [|m IH]; intros Hm; [now right|]. specialize (IH ltac:(lia)).
    destruct IH as [[v [Hv Hzero]]|IH]; [left; exists v; split; [lia | exact Hzero]|].
    destruct (Z.le_gt_cases 0 (over_table (not_above t D (Z.of_nat m)) table)) as [Hok|Hless].
    - left. exists (Z.of_nat m). split; [lia|]. unfold S. cbn [score]. lia.
    - right. rewrite Nat2Z.inj_succ. unfold Z.succ. rewrite Hshift. lia. }
  assert (Hzero : exists v, 0 <= v < c /\ S v = 0).
  { destruct (Hfirst (Z.to_nat (c - 1)) ltac:(lia)) as [[v [Hv Hz]]|H]; [exists v; split; [lia | exact Hz]|].
    rewrite Z2Nat.id in H by lia. exists (c - 1). split; [lia|]. unfold S. cbn [score]. lia. }
  destruct Hzero as [v [Hv Hz]]. pose proof (best_most S (range c) v ltac:(now apply in_range)).
  destruct (best_is_one S (range c)) as [m [_ Hbest]]; [apply in_range; lia|]. specialize (Hmost m). lia.
Qed.

Definition judge_scores (q : score_question) (r : relation) (bits p d : Z) (l : level) : bool :=
  sound_question q && check_scores bits p d (steps_of q r) l.

(** "Permute-and-flip is private: for neighbouring tables, P(r given one) <= e^ε·P(r given the other)." *)
Theorem scores_private : forall (F : numbers) q r bits p d l, judge_scores q r bits p d l = true ->
  forall E : F, is_exp E l -> forall n D D', allowed q D -> allowed q D' -> neighbouring r n D D' ->
  let P table v := output F bits p d (values_of q) (score q table) v in
  sum (range (values_of q)) (P D) = one /\
  (forall v, In v (range (values_of q)) -> le (P D v) (mul E (P D' v))).
Proof.
  intros F q r bits p d l H E HE n D D' HD HD' Hn P. apply andb_prop in H as [Hq H].
  pose proof Hq as Hsound. unfold sound_question in Hq. apply andb_prop in Hq as [Hq _].
  apply andb_prop in Hq as [Hvalues _]. apply Z.ltb_lt in Hvalues.
  destruct (scores_sound F bits p d (steps_of q r) l (values_of q) H Hvalues E HE) as [Hone Hratio].
  split; [apply Hone|]. intros v Hv. apply Hratio; [now apply (scores_apart q r n) | exact Hv].
Qed.
