(** * How much weight lies in the layers of a lattice

    A point is a list of whole numbers. Its distance from the origin is
    - on a _cube_ (several counts): max |z_i|;
    - on a _range_ (several counts, people who come or go): max z_i⁺ + max z_i⁻;
    - on a _cross_ (a histogram of people who come or go): Σ |z_i|;
    - among _roots_ (a histogram of a fixed number of people): Σ z_i⁺, where Σ z_i = 0.
    Each section ends with the sum of a weight by distance over all points: a formula that needs no
    list of them. *)

From Coq Require Import ZArith List Lia Bool.
From Tightrope Require Import Numbers Questions Lattice.
Import ListNotations.
Open Scope Z_scope.

(** ** Sums *)

Lemma total_zero : forall A (l : list A) g, (forall a, In a l -> g a = 0) -> total l g = 0.
Proof.
  induction l as [|a l IH]; intros g H; [reflexivity|].
  rewrite total_cons, (H a (or_introl eq_refl)), IH; [reflexivity|]. intros; apply H; now right.
Qed.

Lemma total_mul : forall A (l : list A) g c, total l (fun a => c * g a) = c * total l g.
Proof. induction l as [|a l IH]; intros; [unfold total; simpl; lia|]. rewrite !total_cons, IH. lia. Qed.

Lemma total_sub : forall A (l : list A) g h, total l (fun a => g a - h a) = total l g - total l h.
Proof. induction l as [|a l IH]; intros; [reflexivity|]. rewrite !total_cons, IH. lia. Qed.

Lemma total_map : forall A B (l : list A) (m : A -> B) g, total (map m l) g = total l (fun a => g (m a)).
Proof. induction l as [|a l IH]; intros; [reflexivity|]. cbn [map]. rewrite !total_cons, IH. reflexivity. Qed.

Lemma total_flat_map : forall A B (l : list A) (m : A -> list B) g,
  total (flat_map m l) g = total l (fun a => total (m a) g).
Proof.
  induction l as [|a l IH]; intros; [reflexivity|].
  cbn [flat_map]. now rewrite total_app, total_cons, IH.
Qed.

Lemma total_swap : forall A B (l : list A) (m : list B) g,
  total l (fun a => total m (g a)) = total m (fun b => total l (fun a => g a b)).
Proof.
  induction l as [|a l IH]; intros.
  - symmetry. apply total_zero. reflexivity.
  - rewrite total_cons, IH, <- total_add. apply total_ext. intros. now rewrite total_cons.
Qed.

(** The numbers a … b. *)
Definition span (a b : Z) : list Z := count_from (Z.to_nat (b - a + 1)) a.

Lemma in_span : forall a b z, In z (span a b) <-> a <= z <= b.
Proof. intros. unfold span. rewrite in_count_from. lia. Qed.

Lemma span_split : forall a b c g, a <= b + 1 <= c + 1 ->
  total (span a c) g = total (span a b) g + total (span (b + 1) c) g.
Proof.
  intros a b c g H. unfold span.
  replace (Z.to_nat (c - a + 1)) with (Z.to_nat (b - a + 1) + Z.to_nat (c - (b + 1) + 1))%nat by lia.
  rewrite count_from_app, total_app.
  now replace (a + Z.of_nat (Z.to_nat (b - a + 1))) with (b + 1) by lia.
Qed.

Lemma span_const : forall a b c, a <= b + 1 -> total (span a b) (fun _ => c) = (b - a + 1) * c.
Proof. intros. unfold span. rewrite total_const, Z2Nat.id by lia. reflexivity. Qed.

Lemma span_shift : forall a b x g, total (span a b) (fun y => g (y - x)) = total (span (a - x) (b - x)) g.
Proof.
  intros. unfold span. rewrite total_shift.
  now replace (b - x - (a - x) + 1) with (b - a + 1) by lia.
Qed.

(** A sum over more numbers is the same where nothing lies on the others. *)
Lemma span_wider : forall a b c d g, c <= a -> b <= d -> a <= b + 1 ->
  (forall z, c <= z <= d -> z < a \/ b < z -> g z = 0) -> total (span c d) g = total (span a b) g.
Proof.
  intros a b c d g Hca Hbd Hab Hz.
  rewrite (span_split c (a - 1) d) by lia. replace (a - 1 + 1) with a by lia.
  rewrite (span_split a b d) by lia.
  rewrite (total_zero _ (span c (a - 1))) by (intros z Hin; apply in_span in Hin; apply Hz; lia).
  rewrite (total_zero _ (span (b + 1) d)) by (intros z Hin; apply in_span in Hin; apply Hz; lia).
  lia.
Qed.

Lemma span_one : forall a g, total (span a a) g = g a.
Proof. intros. unfold span. rewrite Z.sub_diag. reflexivity. Qed.

Lemma span_mirror : forall r g, total (span (- r) (-1)) g = total (span 1 r) (fun z => g (- z)).
Proof.
  intros r g. destruct (Z.lt_ge_cases r 0) as [Hr|Hr].
  - unfold span. replace (Z.to_nat (-1 - - r + 1)) with 0%nat by lia.
    replace (Z.to_nat (r - 1 + 1)) with 0%nat by lia. reflexivity.
  - rewrite <- (Z2Nat.id r) by lia. generalize (Z.to_nat r) as n. clear. induction n as [|n IH].
    + reflexivity.
    + rewrite (span_split (- Z.of_nat (S n)) (- Z.of_nat (S n)) (-1)) by lia.
      rewrite (span_split 1 (Z.of_nat n) (Z.of_nat (S n))) by lia.
      replace (- Z.of_nat (S n) + 1) with (- Z.of_nat n) by lia. rewrite IH.
      replace (Z.of_nat n + 1) with (Z.of_nat (S n)) by lia.
      rewrite !span_one. lia.
Qed.

(** ** Points: k numbers from a … b *)
Fixpoint grid (k : nat) (a b : Z) : list (list Z) :=
  match k with
  | O => [[]]
  | S m => flat_map (fun z => map (cons z) (grid m a b)) (span a b)
  end.

Lemma grid_cons : forall k a b g,
  total (grid (S k) a b) g = total (span a b) (fun z => total (grid k a b) (fun r => g (z :: r))).
Proof.
  intros. cbn [grid]. rewrite total_flat_map. apply total_ext. intros. now rewrite total_map.
Qed.

Lemma in_grid : forall k a b z, In z (grid k a b) <-> length z = k /\ Forall (fun x => a <= x <= b) z.
Proof.
  induction k as [|k IH]; intros a b z; cbn [grid].
  - split; [intros [<-|[]]; now split | intros [H _]; destruct z; [now left | discriminate]].
  - rewrite in_flat_map. split.
    + intros [x [Hx Hz]]. apply in_map_iff in Hz as [r [<- Hr]]. apply IH in Hr as [H1 H2].
      apply in_span in Hx. split; [simpl; now f_equal | now constructor].
    + intros [H1 H2]. destruct z as [|x r]; [discriminate|]. inversion H2; subst.
      exists x. split; [now apply in_span|]. apply in_map. apply IH. now inversion H1.
Qed.

Lemma grid_size : forall k a b, a <= b + 1 -> total (grid k a b) (fun _ => 1) = (b - a + 1) ^ Z.of_nat k.
Proof.
  induction k as [|k IH]; intros; [reflexivity|].
  rewrite grid_cons. rewrite (total_ext _ _ _ (fun _ => (b - a + 1) ^ Z.of_nat k)) by (intros; now apply IH).
  rewrite span_const by lia. rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. lia.
Qed.

(** Seen from an answer, the points around all answers are those around the origin. *)
Lemma grid_around : forall k n R M g x, 0 <= R -> n + R <= M -> length x = k ->
  Forall (fun c => 0 <= c <= n) x ->
  (forall z, length z = k -> ~ Forall (fun c => - R <= c <= R) z -> g z = 0) ->
  total (grid k (- R) M) (fun y => g (differences y x)) = total (grid k (- R) R) g.
Proof.
  induction k as [|k IH]; intros n R M g x HR HM Hx Hin Hg; [destruct x; [reflexivity | discriminate]|].
  destruct x as [|c x]; [discriminate|]. inversion Hin; subst. rewrite !grid_cons.
  rewrite (total_ext _ _ _ (fun y => (fun d => total (grid k (- R) R) (fun r => g (d :: r))) (y - c))).
  - etransitivity; [apply (span_shift _ _ c (fun d => total (grid k (- R) R) (fun r => g (d :: r))))|].
    apply span_wider; try lia.
    intros z _ Hz. apply total_zero. intros r Hr. apply in_grid in Hr as [Hr _].
    apply Hg; [simpl; now f_equal|]. intros Hall. inversion Hall; lia.
  - intros y _. cbn [differences combine map fst snd].
    apply (IH n R M (fun r => g (y - c :: r)) x); auto.
    intros z Hz Hout. apply Hg; [simpl; now f_equal|]. intros Hall. inversion Hall; auto.
Qed.

(** ** Weights that are a list: e_t for t = 0, 1, …, and 0 beyond *)
Definition at_ (e : list Z) (t : Z) : Z := nth (Z.to_nat t) e 0.

Lemma at_beyond : forall e t, Z.of_nat (length e) <= t -> at_ e t = 0.
Proof. intros. unfold at_. apply nth_overflow. lia. Qed.

(** What a list weighs when [ball t] points lie up to distance t: Σ_t (e_t - e_(t+1))·ball t. *)
Fixpoint by_balls (ball : Z -> Z) (t : Z) (e : list Z) : Z :=
  match e with
  | [] => 0
  | w :: rest => (w - hd 0 rest) * ball t + by_balls ball (t + 1) rest
  end.

Lemma by_balls_total : forall A (points : list A) (far : A -> Z) ball e s,
  (forall a, In a points -> 0 <= far a) -> 0 <= s ->
  (forall t, s <= t < s + Z.of_nat (length e) -> total points (fun a => if far a <=? t then 1 else 0) = ball t) ->
  total points (fun a => at_ e (Z.max 0 (far a - s))) = by_balls ball s e.
Proof.
  intros A points far ball. induction e as [|w e IH]; intros s Hfar Hs Hball.
  - apply total_zero. intros. unfold at_. now destruct (Z.to_nat _).
  - cbn [by_balls]. rewrite <- (IH (s + 1)); [|assumption|lia|intros t Ht; apply Hball; cbn [length]; lia].
    rewrite <- (Hball s) by (cbn [length]; lia). rewrite <- total_mul, <- total_add.
    apply total_ext. intros a Ha. specialize (Hfar a Ha). unfold at_.
    destruct (far a <=? s) eqn:E; [apply Z.leb_le in E | apply Z.leb_gt in E].
    + rewrite !Z.max_l by lia. change (Z.to_nat 0) with 0%nat. destruct e; simpl; lia.
    + rewrite !Z.max_r by lia. replace (Z.to_nat (far a - s)) with (S (Z.to_nat (far a - (s + 1)))) by lia.
      cbn [nth]. lia.
Qed.

(** ** The norms *)
Definition top (z : list Z) : Z := fold_right Z.max 0 z.
Definition negated (z : list Z) : list Z := map Z.opp z.
Definition cube (z : list Z) : Z := Z.max (top z) (top (negated z)).
Definition spread (z : list Z) : Z := top z + top (negated z).
Definition cross (z : list Z) : Z := fold_right (fun c rest => Z.abs c + rest) 0 z.
Definition rising (z : list Z) : Z := fold_right (fun c rest => Z.max 0 c + rest) 0 z.

Lemma top_nonneg : forall z, 0 <= top z.
Proof. induction z; simpl; lia. Qed.
Lemma cross_nonneg : forall z, 0 <= cross z.
Proof. induction z; simpl; lia. Qed.
Lemma rising_nonneg : forall z, 0 <= rising z.
Proof. induction z; simpl; lia. Qed.

Lemma top_bound : forall z t, 0 <= t -> top z <= t <-> Forall (fun c => c <= t) z.
Proof.
  induction z as [|c z IH]; intros t Ht; cbn [top fold_right]; [split; auto; lia|].
  change (fold_right Z.max 0 z) with (top z).
  split; [intros H | intros H; inversion H; subst].
  - constructor; [lia|]. apply IH; lia.
  - apply Z.max_lub; [assumption|]. now apply IH.
Qed.

Lemma bottom_bound : forall z t, 0 <= t -> top (negated z) <= t <-> Forall (fun c => - t <= c) z.
Proof.
  intros z t Ht. rewrite top_bound by lia. unfold negated. rewrite Forall_map.
  split; apply Forall_impl; intros; lia.
Qed.

Lemma Forall_both : forall A (P Q : A -> Prop) l, Forall P l -> Forall Q l -> Forall (fun a => P a /\ Q a) l.
Proof. intros. rewrite Forall_forall in *. auto. Qed.

(** ** Cubes: (2t+1)^k points up to distance t *)
Definition inside (a b : Z) (z : list Z) : bool := forallb (fun c => (a <=? c) && (c <=? b)) z.

Lemma between_in : forall a b z, a <= z <= b -> (a <=? z) && (z <=? b) = true.
Proof. intros. apply andb_true_intro. split; apply Z.leb_le; lia. Qed.
Lemma between_out : forall a b z, z < a \/ b < z -> (a <=? z) && (z <=? b) = false.
Proof. intros. apply andb_false_iff. rewrite !Z.leb_gt. lia. Qed.

Lemma count_inside : forall k a b A B, A <= a -> a <= b + 1 -> b <= B ->
  total (grid k A B) (fun z => if inside a b z then 1 else 0) = (b - a + 1) ^ Z.of_nat k.
Proof.
  induction k as [|k IH]; intros a b A B H1 H2 H3; [reflexivity|].
  rewrite grid_cons.
  rewrite (total_ext _ _ _ (fun z => if (a <=? z) && (z <=? b) then (b - a + 1) ^ Z.of_nat k else 0)).
  - rewrite (span_wider a b A B); [|lia|lia|lia|intros z _ Hout; now rewrite between_out].
    rewrite (total_ext _ _ _ (fun _ => (b - a + 1) ^ Z.of_nat k)).
    + rewrite span_const by lia. rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. lia.
    + intros z Hz. apply in_span in Hz. now rewrite between_in.
  - intros z _. cbn [inside forallb]. destruct ((a <=? z) && (z <=? b)).
    + now apply IH.
    + now apply total_zero.
Qed.

Lemma inside_iff : forall a b z, inside a b z = true <-> Forall (fun c => a <= c <= b) z.
Proof.
  intros a b z. unfold inside. rewrite forallb_forall, Forall_forall.
  split; intros H c Hc; specialize (H c Hc);
    [apply andb_prop in H as [H1 H2]; apply Z.leb_le in H1, H2; lia
    | apply andb_true_intro; split; apply Z.leb_le; lia].
Qed.

Lemma cube_ball : forall k t R, 0 <= t <= R ->
  total (grid k (- R) R) (fun z => if cube z <=? t then 1 else 0) = (2 * t + 1) ^ Z.of_nat k.
Proof.
  intros k t R Ht. rewrite (total_ext _ _ _ (fun z => if inside (- t) t z then 1 else 0)).
  - rewrite count_inside by lia. f_equal. lia.
  - intros z _. replace (cube z <=? t) with (inside (- t) t z); [reflexivity|].
    apply eq_true_iff_eq. rewrite inside_iff, Z.leb_le. unfold cube.
    rewrite Z.max_lub_iff, top_bound, bottom_bound by lia.
    split; [intros H; split; revert H; apply Forall_impl; intros; lia|].
    intros [Ha Hb]. generalize (Forall_both _ _ _ _ Ha Hb). apply Forall_impl. intros; lia.
Qed.

(** ** Ranges: (t+1)^(k+1) - t^(k+1) points up to distance t

    Each point at distance d fits into a box of side t in t + 1 - d ways, if that is positive. *)
Lemma fits : forall z t, 0 <= t ->
  total (span 0 t) (fun a => if inside (- a) (t - a) z then 1 else 0) = Z.max 0 (t + 1 - spread z).
Proof.
  intros z t Ht. pose proof (top_nonneg z). pose proof (top_nonneg (negated z)).
  rewrite (total_ext _ _ _ (fun a => if (top (negated z) <=? a) && (a <=? t - top z) then 1 else 0)).
  - unfold spread. destruct (Z.le_gt_cases (top (negated z)) (t - top z + 1)) as [Hle|Hgt].
    + rewrite (span_wider (top (negated z)) (t - top z)); [|lia|lia|lia|].
      * rewrite (total_ext _ _ _ (fun _ => 1)); [rewrite span_const by lia; lia|].
        intros a Ha. apply in_span in Ha. now rewrite between_in.
      * intros a _ Ha. now rewrite between_out.
    + rewrite Z.max_l by lia. apply total_zero. intros a _. rewrite between_out by lia. reflexivity.
  - intros a Ha. apply in_span in Ha.
    replace (inside (- a) (t - a) z) with ((top (negated z) <=? a) && (a <=? t - top z)); [reflexivity|].
    apply eq_true_iff_eq. rewrite inside_iff, andb_true_iff, !Z.leb_le.
    rewrite bottom_bound by lia. split.
    + intros [Hb Ht']. assert (Hb' : top z <= t - a) by lia. apply top_bound in Hb'; [|lia].
      generalize (Forall_both _ _ _ _ Hb Hb'). apply Forall_impl. intros; lia.
    + intros Hall. split; [revert Hall; apply Forall_impl; intros; lia|].
      assert (top z <= t - a); [|lia]. apply top_bound; [lia|]. revert Hall. apply Forall_impl. intros; lia.
Qed.

Lemma range_fits : forall k t R, 0 <= t <= R ->
  total (grid k (- R) R) (fun z => Z.max 0 (t + 1 - spread z)) = (t + 1) ^ Z.of_nat (S k).
Proof.
  intros k t R Ht.
  rewrite (total_ext _ _ _ (fun z => total (span 0 t) (fun a => if inside (- a) (t - a) z then 1 else 0)))
    by (intros; now rewrite fits by lia).
  rewrite total_swap. rewrite (total_ext _ _ _ (fun _ => (t + 1) ^ Z.of_nat k)).
  - rewrite span_const by lia. rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. lia.
  - intros a Ha. apply in_span in Ha. rewrite count_inside by lia. f_equal. lia.
Qed.

Lemma range_ball : forall k t R, 0 <= t <= R ->
  total (grid k (- R) R) (fun z => if spread z <=? t then 1 else 0)
  = (t + 1) ^ Z.of_nat (S k) - t ^ Z.of_nat (S k).
Proof.
  intros k t R Ht.
  rewrite (total_ext _ _ _ (fun z => Z.max 0 (t + 1 - spread z) - Z.max 0 (t - spread z))).
  - rewrite total_sub, range_fits by lia. f_equal.
    destruct (Z.eq_dec t 0) as [->|Hne].
    + rewrite Z.pow_0_l by lia. apply total_zero. intros z _.
      pose proof (top_nonneg z). pose proof (top_nonneg (negated z)). unfold spread. lia.
    + replace (t ^ Z.of_nat (S k)) with ((t - 1 + 1) ^ Z.of_nat (S k)) by (f_equal; lia).
      rewrite <- (range_fits k (t - 1) R) by lia. apply total_ext. intros. f_equal. lia.
  - intros z _. destruct (spread z <=? t) eqn:E; [apply Z.leb_le in E | apply Z.leb_gt in E]; lia.
Qed.

(** ** Crosses

    One more coordinate c adds |c| to the distance: e_t becomes e_t + 2·Σ_(s > t) e_s, which is
    twice the sum from t on less e_t. *)
Fixpoint tails (e : list Z) : list Z :=
  match e with
  | [] => []
  | w :: rest => let sums := tails rest in (w + hd 0 sums) :: sums
  end.
Definition widened (e : list Z) : list Z :=
  map (fun p => 2 * fst p - snd p) (combine (tails e) e).
Fixpoint widened_by (k : nat) (e : list Z) : list Z :=
  match k with O => e | S m => widened (widened_by m e) end.

Lemma at_cons : forall w e t, 1 <= t -> at_ (w :: e) t = at_ e (t - 1).
Proof. intros. unfold at_. replace (Z.to_nat t) with (S (Z.to_nat (t - 1))) by lia. reflexivity. Qed.

Lemma tails_length : forall e, length (tails e) = length e.
Proof. induction e as [|w e IH]; [reflexivity|]. cbn [tails length]. now rewrite IH. Qed.

Lemma widened_length : forall e, length (widened e) = length e.
Proof. intros. unfold widened. rewrite map_length, combine_length, tails_length. lia. Qed.

Lemma widened_by_length : forall k e, length (widened_by k e) = length e.
Proof. induction k; intros; [reflexivity|]. cbn [widened_by]. now rewrite widened_length. Qed.

Lemma tails_at : forall e t M, 0 <= t <= M + 1 -> Z.of_nat (length e) <= M + 1 ->
  at_ (tails e) t = total (span t M) (at_ e).
Proof.
  induction e as [|w e IH]; intros t M Ht He.
  - symmetry. rewrite total_zero; [unfold at_; now destruct (Z.to_nat t)|].
    intros. unfold at_. now destruct (Z.to_nat a).
  - cbn [length] in He.
    assert (Hshift : forall a, 1 <= a -> total (span a M) (at_ (w :: e)) = total (span (a - 1) (M - 1)) (at_ e)).
    { intros a Ha. rewrite (total_ext _ _ _ (fun y => at_ e (y - 1))).
      - apply (span_shift a M 1 (at_ e)).
      - intros y Hy. apply in_span in Hy. apply at_cons. lia. }
    destruct (Z.eq_dec t 0) as [->|Hne].
    + rewrite (span_split 0 0 M) by lia. rewrite span_one. change (0 + 1) with 1.
      rewrite Hshift by lia. change (1 - 1) with 0. rewrite <- IH by lia.
      cbn [tails]. unfold at_. change (Z.to_nat 0) with 0%nat. cbn [nth]. now destruct (tails e).
    + rewrite Hshift by lia. rewrite <- IH by lia. cbn [tails]. apply at_cons. lia.
Qed.

Lemma widened_at : forall e t, at_ (widened e) t = 2 * at_ (tails e) t - at_ e t.
Proof.
  intros e t. unfold at_, widened. pose proof (tails_length e) as Hlen. revert Hlen.
  generalize (tails e) as s. generalize (Z.to_nat t) as n. clear.
  intros n s. revert n e. induction s as [|x s IH]; intros n e Hlen; destruct e; try discriminate.
  - destruct n; reflexivity.
  - destruct n; [reflexivity|]. cbn [combine map nth]. apply IH. now inversion Hlen.
Qed.

Lemma widened_total : forall e s R, 0 <= s -> 0 <= R -> Z.of_nat (length e) <= R + 1 ->
  total (span (- R) R) (fun c => at_ e (s + Z.abs c)) = at_ (widened e) s.
Proof.
  intros e s R Hs HR He. rewrite widened_at, (tails_at e s (s + R)) by lia.
  rewrite (span_split (- R) (-1) R) by lia. change (-1 + 1) with 0.
  rewrite (span_split 0 0 R), span_one, span_mirror by lia.
  rewrite (span_split s s (s + R)), span_one by lia.
  assert (Hright : total (span (s + 1) (s + R)) (at_ e) = total (span 1 R) (fun c => at_ e (s + c))).
  { replace (s + 1) with (1 - - s) by lia. replace (s + R) with (R - - s) by lia.
    rewrite <- (span_shift 1 R (- s)). apply total_ext. intros. f_equal. lia. }
  rewrite Hright. change (0 + 1) with 1. change (Z.abs 0) with 0. rewrite Z.add_0_r.
  rewrite (total_ext _ _ (fun z => at_ e (s + Z.abs (- z))) (fun c => at_ e (s + c)))
    by (intros z Hz; apply in_span in Hz; f_equal; lia).
  rewrite (total_ext _ _ (fun c => at_ e (s + Z.abs c)) (fun c => at_ e (s + c)))
    by (intros z Hz; apply in_span in Hz; f_equal; lia).
  lia.
Qed.

Lemma cross_total : forall k e s R, 0 <= s -> 0 <= R -> Z.of_nat (length e) <= R + 1 ->
  total (grid k (- R) R) (fun z => at_ e (s + cross z)) = at_ (widened_by k e) s.
Proof.
  induction k as [|k IH]; intros e s R Hs HR He.
  - unfold total. cbn [grid fold_left cross fold_right widened_by]. now rewrite Z.add_0_r.
  - rewrite grid_cons. cbn [widened_by].
    rewrite <- (widened_total (widened_by k e) s R); [|lia|lia|rewrite widened_by_length; lia].
    apply total_ext. intros c _. rewrite <- (IH e (s + Z.abs c) R) by lia.
    apply total_ext. intros z _. cbn [cross fold_right]. fold (cross z). f_equal. lia.
Qed.

(** ** Roots

    j positive coordinates with sum a, and m others with sum -b: [strict j a] and [weak m b] ways. *)
Fixpoint strict (j : nat) (a : Z) : Z :=
  match j with O => if a =? 0 then 1 else 0 | S i => total (span 0 (a - 1)) (strict i) end.
Fixpoint weak (m : nat) (b : Z) : Z :=
  match m with O => if b =? 0 then 1 else 0 | S i => total (span 0 b) (weak i) end.

(** One more coordinate is positive, or it is not. *)
Fixpoint choose (k j m : nat) (F : nat -> nat -> Z) : Z :=
  match k with
  | O => F j m
  | S i => choose i (S j) m F + choose i j (S m) F
  end.

Lemma above : forall a N g, -1 <= a < N ->
  total (span 0 (N - 1)) (fun z => if a <? z then g z else 0) = total (span (a + 1) (N - 1)) g.
Proof.
  intros a N g Ha. rewrite (span_wider (a + 1) (N - 1) 0 (N - 1)); [|lia|lia|lia|].
  - apply total_ext. intros z Hz. apply in_span in Hz. now replace (a <? z) with true by (symmetry; apply Z.ltb_lt; lia).
  - intros z Hz Hout. now replace (a <? z) with false by (symmetry; apply Z.ltb_ge; lia).
Qed.

Lemma upto : forall b N g, -1 <= b < N ->
  total (span 0 (N - 1)) (fun z => if z <=? b then g z else 0) = total (span 0 b) g.
Proof.
  intros b N g Hb. rewrite (span_wider 0 b 0 (N - 1)); [|lia|lia|lia|].
  - apply total_ext. intros z Hz. apply in_span in Hz. now replace (z <=? b) with true by (symmetry; apply Z.leb_le; lia).
  - intros z Hz Hout. now replace (z <=? b) with false by (symmetry; apply Z.leb_gt; lia).
Qed.

(** Moving by c = from … R: sums by start are sums by where one arrives. *)
Lemma moved_total : forall (p H : Z -> Z) N R from, 0 <= from <= 1 -> N - 1 <= R ->
  (forall a, N <= a -> H a = 0) ->
  total (span from R) (fun c => total (span 0 (N - 1)) (fun a => p a * H (a + c)))
  = total (span 0 (N - 1)) (fun a => total (span 0 (a - from)) p * H a).
Proof.
  intros p H N R from Hfrom HR HH. rewrite total_swap.
  transitivity (total (span 0 (N - 1)) (fun a => total (span 0 (N - 1)) (fun z =>
    if a + from - 1 <? z then p a * H z else 0))).
  - apply total_ext. intros a Ha. apply in_span in Ha. rewrite above by lia.
    replace (a + from - 1 + 1) with (from - - a) by lia.
    rewrite (total_ext _ _ _ (fun c => p a * H (c - - a)))
      by (intros; now replace (a + a0) with (a0 - - a) by lia).
    etransitivity; [apply (span_shift from R (- a) (fun z => p a * H z))|].
    apply span_wider; try lia. intros z Hz Hout. rewrite HH by lia. lia.
  - rewrite total_swap. apply total_ext. intros z Hz. apply in_span in Hz.
    rewrite (total_ext _ _ _ (fun a => if a <=? z - from then H z * p a else 0)).
    + rewrite (upto (z - from) N (fun a => H z * p a)) by lia. rewrite total_mul. lia.
    + intros a _. replace (a + from - 1 <? z) with (a <=? z - from); [destruct (_ <=? _); lia|].
      apply eq_true_iff_eq. rewrite Z.leb_le, Z.ltb_lt. lia.
Qed.

Definition pairs (N : Z) (j m : nat) (G : Z -> Z -> Z) : Z :=
  total (span 0 (N - 1)) (fun a => total (span 0 (N - 1)) (fun b => strict j a * weak m b * G a b)).

Lemma roots_pairs : forall k N R j m G, 0 <= R -> N - 1 <= R ->
  (forall a b, N <= a \/ N <= b -> G a b = 0) ->
  total (grid k (- R) R) (fun z => pairs N j m (fun a b => G (a + rising z) (b + rising (negated z))))
  = choose k j m (fun j m => pairs N j m G).
Proof.
  induction k as [|k IH]; intros N R j m G HN HR HG.
  - unfold total at 1. cbn [grid fold_left rising negated map fold_right choose].
    unfold pairs. rewrite Z.add_0_l. apply total_ext. intros. apply total_ext. intros. now rewrite !Z.add_0_r.
  - cbn [choose]. rewrite <- (IH N R (S j) m G), <- (IH N R j (S m) G) by assumption.
    rewrite grid_cons. rewrite (span_split (- R) (-1) R) by lia. change (-1 + 1) with 0.
    rewrite (span_split 0 0 R), span_one, span_mirror by lia. change (0 + 1) with 1.
    (* The positive numbers. *)
    assert (Hpos : total (span 1 R) (fun c => total (grid k (- R) R) (fun z => pairs N j m
        (fun a b => G (a + rising (c :: z)) (b + rising (negated (c :: z))))))
      = total (grid k (- R) R) (fun z => pairs N (S j) m
        (fun a b => G (a + rising z) (b + rising (negated z))))).
    { rewrite total_swap. apply total_ext. intros z _. pose proof (rising_nonneg z).
      unfold pairs.
      set (H' := fun a => total (span 0 (N - 1)) (fun b => weak m b * G (a + rising z) (b + rising (negated z)))).
      transitivity (total (span 1 R) (fun c => total (span 0 (N - 1)) (fun a => strict j a * H' (a + c)))).
      - apply total_ext. intros c Hc. apply in_span in Hc. apply total_ext. intros a _. unfold H'.
        rewrite <- total_mul. apply total_ext. intros b _. cbn [rising negated map fold_right].
        fold (rising z) (negated z) (rising (negated z)).
        rewrite Z.max_r, (Z.max_l 0 (- c)) by lia. rewrite Z.mul_assoc. do 2 f_equal; lia.
      - rewrite (moved_total (strict j) H' N R 1) by (try lia; intros a Ha; apply total_zero; intros; rewrite HG by lia; lia).
        apply total_ext. intros a _. cbn [strict]. unfold H'. rewrite <- total_mul.
        apply total_ext. intros. lia. }
    (* Those that are not. *)
    assert (Hneg : total (span 0 R) (fun c => total (grid k (- R) R) (fun z => pairs N j m
        (fun a b => G (a + rising (- c :: z)) (b + rising (negated (- c :: z))))))
      = total (grid k (- R) R) (fun z => pairs N j (S m)
        (fun a b => G (a + rising z) (b + rising (negated z))))).
    { rewrite total_swap. apply total_ext. intros z _. pose proof (rising_nonneg (negated z)).
      unfold pairs. rewrite total_swap. apply total_ext. intros a _.
      set (H' := fun b => strict j a * G (a + rising z) (b + rising (negated z))).
      transitivity (total (span 0 R) (fun c => total (span 0 (N - 1)) (fun b => weak m b * H' (b + c)))).
      - apply total_ext. intros c Hc. apply in_span in Hc. apply total_ext. intros b _. unfold H'.
        cbn [rising negated map fold_right]. fold (rising z) (negated z) (rising (negated z)).
        rewrite Z.max_l, Z.opp_involutive, (Z.max_r 0 c) by lia. rewrite Z.mul_assoc.
        rewrite (Z.mul_comm (weak m b)). do 2 f_equal; lia.
      - rewrite (moved_total (weak m) H' N R 0) by (try lia; intros b Hb; unfold H'; rewrite HG by lia; lia).
        apply total_ext. intros b _. cbn [weak]. rewrite Z.sub_0_r. unfold H'. lia. }
    rewrite Hpos. rewrite (span_split 0 0 R), span_one in Hneg by lia. change (0 + 1) with 1 in Hneg.
    change (- 0) with 0 in Hneg. rewrite <- Hneg. lia.
Qed.

(** *** The same in time k·T: lists of [strict] and [weak], and the recursion of [choose] level by
    level *)
Fixpoint prefix (sum : Z) (l : list Z) : list Z :=
  match l with [] => [] | w :: rest => let next := sum + w in next :: prefix next rest end.
Definition later_ones (l : list Z) : list Z := 0 :: prefix 0 l.
Definition unit_list (e : list Z) : list Z := match e with [] => [] | _ :: rest => 1 :: map (fun _ => 0) rest end.
Fixpoint powers {A} (n : nat) (f : A -> A) (x : A) : list A :=
  match n with O => [x] | S m => x :: powers m f (f x) end.
Fixpoint dot (a b e : list Z) : Z :=
  match a, b, e with
  | x :: a', y :: b', w :: e' => x * y * w + dot a' b' e'
  | _, _, _ => 0
  end.
Fixpoint sums_of_two (l : list Z) : list Z :=
  match l with
  | x :: rest => match rest with [] => [] | y :: _ => (x + y) :: sums_of_two rest end
  | [] => []
  end.
Fixpoint collapse (k : nat) (l : list Z) : Z :=
  match k with O => hd 0 l | S m => collapse m (sums_of_two l) end.

Definition roots_sum (k : nat) (e : list Z) : Z :=
  let ups := powers k later_ones (unit_list e) in
  let downs := rev (powers k (prefix 0) (unit_list e)) in
  collapse k (map (fun p => dot (fst p) (snd p) e) (combine ups downs)).

Lemma prefix_at : forall l sum t, 0 <= t < Z.of_nat (length l) ->
  at_ (prefix sum l) t = sum + total (span 0 t) (at_ l).
Proof.
  induction l as [|w l IH]; intros sum t Ht; [simpl in Ht; lia|]. cbn [length] in Ht. cbn [prefix].
  rewrite (span_split 0 0 t), span_one by lia. change (0 + 1) with 1.
  destruct (Z.eq_dec t 0) as [->|Hne].
  - unfold at_ at 1 2. change (Z.to_nat 0) with 0%nat. cbn [nth]. unfold span. simpl Z.to_nat.
    unfold total. simpl. lia.
  - rewrite at_cons, IH by lia.
    rewrite (total_ext _ (span 1 t) _ (fun y => at_ l (y - 1)))
      by (intros y Hy; apply in_span in Hy; apply at_cons; lia).
    rewrite (span_shift 1 t 1 (at_ l)). change (1 - 1) with 0.
    unfold at_ at 2. change (Z.to_nat 0) with 0%nat. cbn [nth]. lia.
Qed.

Lemma prefix_length : forall l sum, length (prefix sum l) = length l.
Proof. induction l as [|w l IH]; intros; [reflexivity|]. cbn [prefix length]. now rewrite IH. Qed.

Lemma unit_at : forall e t, e <> [] -> at_ (unit_list e) t = if Z.max 0 t =? 0 then 1 else 0.
Proof.
  intros [|w e] t He; [contradiction|]. unfold at_, unit_list.
  destruct (Z.le_gt_cases t 0) as [Ht|Ht].
  - replace (Z.to_nat t) with 0%nat by lia. now rewrite Z.max_l by lia.
  - replace (Z.to_nat t) with (S (Z.to_nat (t - 1))) by lia. cbn [nth]. rewrite Z.max_r by lia.
    replace (t =? 0) with false by (symmetry; apply Z.eqb_neq; lia).
    generalize (Z.to_nat (t - 1)) as n. clear. induction e as [|x e IH]; intros [|n]; cbn; auto.
Qed.

Lemma unit_length : forall e, length (unit_list e) = length e.
Proof. intros [|w e]; [reflexivity|]. cbn [unit_list length]. now rewrite map_length. Qed.

Lemma weak_list : forall e m, e <> [] ->
  length (Nat.iter m (prefix 0) (unit_list e)) = length e /\
  forall t, 0 <= t < Z.of_nat (length e) -> at_ (Nat.iter m (prefix 0) (unit_list e)) t = weak m t.
Proof.
  intros e m He. induction m as [|m [IH1 IH2]].
  - split; [apply unit_length|]. intros t Ht. cbn [Nat.iter nat_rect weak].
    rewrite unit_at by assumption. now rewrite Z.max_r by lia.
  - cbn [Nat.iter nat_rect]. change (nat_rect _ _ _ m) with (Nat.iter m (prefix 0) (unit_list e)).
    split; [now rewrite prefix_length|]. intros t Ht. rewrite prefix_at by (rewrite IH1; lia).
    cbn [weak]. rewrite Z.add_0_l. apply total_ext. intros y Hy. apply in_span in Hy. apply IH2. lia.
Qed.

Lemma strict_list : forall e j, e <> [] ->
  (length e <= length (Nat.iter j later_ones (unit_list e)))%nat /\
  forall t, 0 <= t < Z.of_nat (length e) -> at_ (Nat.iter j later_ones (unit_list e)) t = strict j t.
Proof.
  intros e j He. induction j as [|j [IH1 IH2]].
  - split; [cbn; rewrite unit_length; lia|]. intros t Ht. cbn [Nat.iter nat_rect strict].
    rewrite unit_at by assumption. now rewrite Z.max_r by lia.
  - cbn [Nat.iter nat_rect]. change (nat_rect _ _ _ j) with (Nat.iter j later_ones (unit_list e)).
    unfold later_ones at 1 3. cbn [length]. split; [rewrite prefix_length; lia|].
    intros t Ht. cbn [strict]. destruct (Z.eq_dec t 0) as [->|Hne]; [reflexivity|].
    rewrite at_cons, prefix_at by lia. rewrite Z.add_0_l.
    apply total_ext. intros y Hy. apply in_span in Hy. apply IH2. lia.
Qed.

Lemma dot_total : forall a b e, (length e <= length a)%nat -> (length e <= length b)%nat ->
  dot a b e = total (span 0 (Z.of_nat (length e) - 1)) (fun t => at_ a t * at_ b t * at_ e t).
Proof.
  induction a as [|x a IH]; intros b e Ha Hb; destruct e as [|w e]; cbn [length] in *; try lia;
    try (destruct b; reflexivity). destruct b as [|y b]; cbn [length] in *; [lia|].
  cbn [dot]. rewrite IH by lia.
  rewrite (span_split 0 0 (Z.of_nat (S (length e)) - 1)) by lia.
  rewrite span_one. change (0 + 1) with 1. f_equal.
  rewrite (total_ext _ (span 1 _) _ (fun t => (fun s => at_ a s * at_ b s * at_ e s) (t - 1)))
    by (intros t Ht; apply in_span in Ht; rewrite !at_cons by lia; reflexivity).
  etransitivity; [|symmetry; apply (span_shift 1 _ 1 (fun s => at_ a s * at_ b s * at_ e s))].
  do 2 f_equal. lia.
Qed.

Lemma powers_map : forall A n (f : A -> A) x, powers n f x = map (fun i => Nat.iter i f x) (seq 0 (S n)).
Proof.
  assert (Hs : forall A (f : A -> A) x i, Nat.iter i f (f x) = Nat.iter (S i) f x).
  { intros A f x i. induction i as [|i IH]; [reflexivity|].
    change (f (Nat.iter i f (f x)) = f (Nat.iter (S i) f x)). now rewrite IH. }
  intros A. induction n as [|n IH]; intros f x; [reflexivity|].
  cbn [powers]. rewrite IH. change (seq 0 (S (S n))) with (0%nat :: seq 1 (S n)).
  rewrite <- (seq_shift (S n) 0), map_cons, map_map. f_equal. apply map_ext. intros. apply Hs.
Qed.

Lemma rev_map_seq : forall A (F : nat -> A) k,
  rev (map F (seq 0 (S k))) = map (fun i => F (k - i)%nat) (seq 0 (S k)).
Proof.
  intros A F. induction k as [|k IH]; [reflexivity|].
  rewrite (seq_S (S k) 0) at 1. rewrite map_app, rev_app_distr, IH. cbn [Nat.add map rev app].
  change (seq 0 (S (S k))) with (0%nat :: seq 1 (S k)).
  rewrite <- (seq_shift (S k) 0), map_cons, map_map. reflexivity.
Qed.

Lemma combine_map_seq : forall A B (F : nat -> A) (G : nat -> B) l,
  combine (map F l) (map G l) = map (fun i => (F i, G i)) l.
Proof. induction l as [|i l IH]; [reflexivity|]. cbn [map combine]. now rewrite IH. Qed.

Lemma sums_map : forall (g : nat -> Z) n a,
  sums_of_two (map g (seq a (S n))) = map (fun i => g i + g (S i)) (seq a n).
Proof.
  intros g. induction n as [|n IH]; intros a; [reflexivity|].
  change (seq a (S (S n))) with (a :: seq (S a) (S n)). cbn [map].
  specialize (IH (S a)). cbn [seq map] in IH |- *. cbn [sums_of_two] in *. f_equal. exact IH.
Qed.

Lemma choose_split : forall k j m F,
  choose k j m (fun j m => F (S j) m + F j (S m)) = choose k (S j) m F + choose k j (S m) F.
Proof.
  induction k as [|k IH]; intros; [reflexivity|]. cbn [choose]. rewrite !IH. lia.
Qed.

Lemma collapse_choose : forall k j m F,
  collapse k (map (fun i => F (j + i)%nat (m + (k - i))%nat) (seq 0 (S k))) = choose k j m F.
Proof.
  induction k as [|k IH]; intros j m F.
  - cbn. now rewrite !Nat.add_0_r.
  - cbn [collapse choose]. rewrite sums_map, <- choose_split, <- IH. f_equal.
    apply map_ext_in. intros i Hi. apply in_seq in Hi.
    replace (m + (S k - i))%nat with (S (m + (k - i))) by lia.
    replace (m + (S k - S i))%nat with (m + (k - i))%nat by lia.
    replace (j + S i)%nat with (S (j + i)) by lia. lia.
Qed.

Definition sum_of (z : list Z) : Z := fold_right Z.add 0 z.

Lemma sum_rising : forall z, sum_of z = rising z - rising (negated z).
Proof.
  induction z as [|c z IH]; [reflexivity|]. cbn [sum_of rising negated map fold_right].
  fold (sum_of z) (rising z) (negated z) (rising (negated z)). lia.
Qed.

Theorem roots_total : forall k e R, 0 <= R -> Z.of_nat (length e) <= R + 1 -> e <> [] ->
  total (grid k (- R) R) (fun z => if sum_of z =? 0 then at_ e (rising z) else 0) = roots_sum k e.
Proof.
  intros k e R HR He Hne. set (N := Z.of_nat (length e)).
  assert (HN : 1 <= N) by (unfold N; destruct e; [contradiction | cbn [length]; lia]).
  set (G := fun a b => if a =? b then at_ e a else 0).
  assert (HG : forall a b, N <= a \/ N <= b -> G a b = 0).
  { intros a b H. unfold G. destruct (a =? b) eqn:E; [apply Z.eqb_eq in E | reflexivity].
    apply at_beyond. fold N. lia. }
  unfold roots_sum.
  rewrite !powers_map, rev_map_seq, combine_map_seq, map_map.
  transitivity (choose k 0 0 (fun j m => pairs N j m G)).
  - rewrite <- (roots_pairs k N R) by (try assumption; lia). apply total_ext. intros z _.
    pose proof (rising_nonneg z). pose proof (rising_nonneg (negated z)). unfold pairs.
    rewrite (span_wider 0 0 0 (N - 1)); [|lia|lia|lia|].
    + rewrite span_one. rewrite (span_wider 0 0 0 (N - 1)); [|lia|lia|lia|].
      * rewrite span_one. cbn [strict weak]. rewrite !Z.add_0_l. unfold G. rewrite sum_rising.
        change (0 =? 0) with true. cbn iota.
        replace (rising z - rising (negated z) =? 0) with (rising z =? rising (negated z)); [lia|].
        apply eq_true_iff_eq. rewrite !Z.eqb_eq. lia.
      * intros b Hb Hout. cbn [weak]. replace (b =? 0) with false by (symmetry; apply Z.eqb_neq; lia). lia.
    + intros a Ha Hout. apply total_zero. intros b _. cbn [strict].
      replace (a =? 0) with false by (symmetry; apply Z.eqb_neq; lia). lia.
  - rewrite <- collapse_choose. f_equal. apply map_ext_in. intros i Hi. apply in_seq in Hi.
    cbn [fst snd Nat.add].
    destruct (strict_list e i Hne) as [Hs1 Hs2]. destruct (weak_list e (k - i) Hne) as [Hw1 Hw2].
    rewrite dot_total by (try rewrite Hw1; lia). fold N. unfold pairs. apply total_ext. intros a Ha.
    apply in_span in Ha. rewrite Hs2, Hw2 by (unfold N in *; lia).
    rewrite (span_wider a a 0 (N - 1)); [|lia|lia|lia|].
    + rewrite span_one. unfold G. now rewrite Z.eqb_refl.
    + intros b _ Hb. unfold G. replace (a =? b) with false by (symmetry; apply Z.eqb_neq; lia). lia.
Qed.

(** ** How many points have one sum

    With k + 1 numbers from -R up and the sum s there are (b+1)⋯(b+k)/k!, b = s + (k+1)·R. *)
Fixpoint rise (b : Z) (k : nat) : Z :=
  match k with O => 1 | S m => rise b m * (b + Z.of_nat k) end.
Fixpoint factorial (k : nat) : Z := match k with O => 1 | S m => Z.of_nat k * factorial m end.

Lemma factorial_pos : forall k, 0 < factorial k.
Proof. induction k; cbn [factorial]; lia. Qed.

Lemma rise_first : forall k b, rise b (S k) = (b + 1) * rise (b + 1) k.
Proof.
  induction k as [|k IH]; intros b; [cbn [rise]; lia|].
  change (rise b (S (S k))) with (rise b (S k) * (b + Z.of_nat (S (S k)))). rewrite IH.
  change (rise (b + 1) (S k)) with (rise (b + 1) k * (b + 1 + Z.of_nat (S k))).
  replace (b + 1 + Z.of_nat (S k)) with (b + Z.of_nat (S (S k))) by lia. lia.
Qed.

Lemma rise_total : forall k b, -1 <= b ->
  Z.of_nat (S k) * total (span 0 b) (fun i => rise i k) = rise b (S k).
Proof.
  intros k b Hb. replace b with (Z.of_nat (Z.to_nat (b + 1)) - 1) by lia.
  generalize (Z.to_nat (b + 1)) as n. clear. induction n as [|n IH].
  - rewrite rise_first. change (Z.of_nat 0 - 1 + 1) with 0. rewrite total_zero; [lia|].
    intros i Hi. apply in_span in Hi. lia.
  - rewrite (span_split 0 (Z.of_nat n - 1)) by lia.
    replace (Z.of_nat n - 1 + 1) with (Z.of_nat n) by lia.
    replace (Z.of_nat (S n) - 1) with (Z.of_nat n) by lia.
    rewrite span_one, Z.mul_add_distr_l, IH, rise_first.
    replace (Z.of_nat n - 1 + 1) with (Z.of_nat n) by lia.
    change (rise (Z.of_nat n) (S k)) with (rise (Z.of_nat n) k * (Z.of_nat n + Z.of_nat (S k))). lia.
Qed.

Lemma one_sum : forall k R M s, 0 <= R -> 0 <= s + Z.of_nat (S k) * R <= M ->
  factorial k * total (grid (S k) (- R) M) (fun y => if sum_of y =? s then 1 else 0)
  = rise (s + Z.of_nat (S k) * R) k.
Proof.
  induction k as [|k IH]; intros R M s HR Hs.
  - cbn [factorial rise]. rewrite grid_cons. unfold total at 2. cbn [grid fold_left].
    rewrite (span_wider s s (- R) M); [|lia|lia|lia|].
    + rewrite span_one. cbn [sum_of fold_right]. rewrite Z.add_0_r, Z.eqb_refl. lia.
    + intros c _ Hc. cbn [sum_of fold_right]. rewrite Z.add_0_r.
      replace (c =? s) with false by (symmetry; apply Z.eqb_neq; lia). lia.
  - rewrite grid_cons. cbn [factorial]. set (b := s + Z.of_nat (S (S k)) * R) in *.
    assert (Hk : Z.of_nat (S (S k)) * R = Z.of_nat (S k) * R + R) by lia.
    rewrite <- rise_total by lia. rewrite <- Z.mul_assoc. f_equal.
    rewrite <- total_mul.
    transitivity (total (span (- R) (b - R)) (fun c => rise (b - R - c) k)).
    + rewrite (span_wider (- R) (b - R) (- R) M); [|lia|lia|lia|].
      * apply total_ext. intros c Hc. apply in_span in Hc.
        rewrite (total_ext _ _ _ (fun y => if sum_of y =? s - c then 1 else 0)).
        -- rewrite IH by lia. f_equal. lia.
        -- intros y _. cbn [sum_of fold_right]. fold (sum_of y).
           replace (c + sum_of y =? s) with (sum_of y =? s - c); [reflexivity|].
           apply eq_true_iff_eq. rewrite !Z.eqb_eq. lia.
      * intros c Hin Hc. rewrite total_zero; [lia|]. intros y Hy. apply in_grid in Hy as [Hlen Hall].
        assert (Hy : - (Z.of_nat (S k) * R) <= sum_of y).
        { rewrite <- Hlen. clear - Hall HR. induction Hall as [|x l Hx Hl IHl]; [reflexivity|].
          cbn [length sum_of fold_right]. fold (sum_of l). lia. }
        change (sum_of (c :: y)) with (c + sum_of y).
        replace (c + sum_of y =? s) with false by (symmetry; apply Z.eqb_neq; lia). reflexivity.
    + (* from the other end *)
      rewrite (total_ext _ _ _ (fun c => (fun i => rise (- i) k) (c - (b - R)))) by (intros; f_equal; lia).
      etransitivity; [apply (span_shift _ _ (b - R) (fun i => rise (- i) k))|].
      rewrite Z.sub_diag. replace (- R - (b - R)) with (- b) by lia.
      rewrite (span_split (- b) (-1) 0) by lia. rewrite span_mirror.
      rewrite (span_split 0 0 b) by lia. change (-1 + 1) with 0. rewrite !span_one.
      change (0 + 1) with 1. change (- 0) with 0.
      rewrite (total_ext _ _ (fun z => rise (- - z) k) (fun i => rise i k)) by (intros; f_equal; lia). lia.
Qed.
