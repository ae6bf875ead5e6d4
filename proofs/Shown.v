(** * A count that is shown if it is large enough (_shown_ weights)

    Noise of one law is added: the levels w_0, w_1, … are the weights of -zero, 1 - zero, …. What
    comes out is a function of the sum alone: *not shown* up to a threshold, else a number. The
    judge adds up what neighbouring levels exceed the ratio by, in both directions. *)

From Coq Require Import ZArith List Ring Lia Bool.
From Tightrope Require Import Numbers Duality Exponential Questions Lattice Layers.
Import ListNotations.
Open Scope Z_scope.

(** Neighbouring levels, 0 outside: (w_0, 0), (w_1, w_0), …, (0, w_last). *)
Definition neighbours (w : list Z) : list (Z * Z) := combine (w ++ [0]) (0 :: w).

Definition excess_of (p q x y : Z) : Z := Z.max 0 (x * q - y * p).

(** δ = a/b, and ε is the level l. *)
Definition check_shown (w : list Z) (bits p q a b : Z) (l : level) : bool :=
  let most := a * (q * 2 ^ bits) in
  (0 <=? bits) && (0 <? q) && (q <=? p) && sound l && below l p q && (0 <=? a) && (0 <? b) &&
  forallb (fun x => 0 <=? x) w && (total w (fun x => x) =? 2 ^ bits) &&
  (total (neighbours w) (fun n => excess_of p q (fst n) (snd n)) * b <=? most) &&
  (total (neighbours w) (fun n => excess_of p q (snd n) (fst n)) * b <=? most).

Section Shown.
  Variables (w : list Z) (bits p q a b : Z) (l : level) (people zero : Z).
  Hypothesis checked : check_shown w bits p q a b l = true.
  Hypothesis Hpeople : 0 <= people.

  Definition size_of_law : Z := Z.of_nat (length w).
  Definition weight_at (t : Z) : Z := if t <? 0 then 0 else at_ w t.
  (** What the sum y weighs under the count i. *)
  Definition mass (i y : Z) : Z := weight_at (y - i + zero).
  Definition all_sums : list Z := span (- zero) (people - zero + size_of_law).

  Lemma shown_parts : 0 <= bits /\ 0 < q <= p /\ sound l = true /\ below l p q = true /\ 0 <= a /\ 0 < b
    /\ (forall x, In x w -> 0 <= x) /\ total w (fun x => x) = 2 ^ bits
    /\ total (neighbours w) (fun n => excess_of p q (fst n) (snd n)) * b <= a * (q * 2 ^ bits)
    /\ total (neighbours w) (fun n => excess_of p q (snd n) (fst n)) * b <= a * (q * 2 ^ bits).
  Proof.
    unfold check_shown in checked. cbv zeta in checked.
    repeat match goal with H : _ && _ = true |- _ => apply andb_prop in H as [? ?] end.
    repeat match goal with
      | H : (_ <=? _) = true |- _ => apply Z.leb_le in H
      | H : (_ <? _) = true |- _ => apply Z.ltb_lt in H
      | H : (_ =? _) = true |- _ => apply Z.eqb_eq in H end.
    repeat split; auto.
    intros x Hx. rewrite forallb_forall in *. apply Z.leb_le. auto.
  Qed.

  Lemma weight_beyond : forall t, t < 0 \/ size_of_law <= t -> weight_at t = 0.
  Proof.
    intros t [Ht|Ht]; unfold weight_at.
    - now replace (t <? 0) with true by (symmetry; apply Z.ltb_lt; lia).
    - destruct (t <? 0); [reflexivity|]. now apply at_beyond.
  Qed.

  Lemma weight_nonneg : forall t, 0 <= weight_at t.
  Proof.
    intros t. destruct shown_parts as [_ [_ [_ [_ [_ [_ [Hw _]]]]]]]. unfold weight_at, at_.
    destruct (t <? 0); [lia|]. destruct (nth_in_or_default (Z.to_nat t) w 0) as [Hin|Hout]; [auto|lia].
  Qed.
End Shown.

(** The list of neighbouring levels holds w_t and w_(t-1) for t = 0 … |w|. *)
Lemma neighbours_total : forall w x g,
  total (combine (w ++ [0]) (x :: w)) g
  = total (span 0 (Z.of_nat (length w)))
      (fun t => g (at_ w t, if t =? 0 then x else at_ w (t - 1))).
Proof.
  induction w as [|v w IH]; intros x g.
  - cbn [app combine length]. change (Z.of_nat 0) with 0. rewrite span_one. reflexivity.
  - cbn [app combine length]. rewrite total_cons, IH.
    rewrite (span_split 0 0 (Z.of_nat (S (length w)))) by lia. rewrite span_one. f_equal. change (0 + 1) with 1.
    rewrite (total_ext _ (span 1 _) _ (fun s => (fun t => g (at_ w t, if t =? 0 then v else at_ w (t - 1))) (s - 1))).
    + etransitivity; [|symmetry; apply (span_shift 1 _ 1 (fun t => g (at_ w t, if t =? 0 then v else at_ w (t - 1))))].
      replace (Z.of_nat (S (length w)) - 1) with (Z.of_nat (length w)) by lia. reflexivity.
    + intros t Ht. apply in_span in Ht. rewrite at_cons by lia.
      replace (t =? 0) with false by (symmetry; apply Z.eqb_neq; lia).
      destruct (t - 1 =? 0) eqn:E.
      * apply Z.eqb_eq in E. replace (t - 1) with 0 by lia. reflexivity.
      * apply Z.eqb_neq in E. rewrite at_cons by lia. reflexivity.
Qed.

Lemma list_total : forall w, total w (fun x => x) = total (span 0 (Z.of_nat (length w) - 1)) (at_ w).
Proof.
  induction w as [|v w IH]; [reflexivity|]. rewrite total_cons, IH. cbn [length].
  rewrite (span_split 0 0 (Z.of_nat (S (length w)) - 1)) by lia. rewrite span_one. change (0 + 1) with 1.
  change (at_ (v :: w) 0) with v. f_equal.
  rewrite (total_ext _ (span 1 _) _ (fun s => at_ w (s - 1)))
    by (intros t Ht; apply in_span in Ht; apply at_cons; lia).
  rewrite (span_shift 1 _ 1 (at_ w)).
  now replace (Z.of_nat (S (length w)) - 1 - 1) with (Z.of_nat (length w) - 1) by lia.
Qed.

Section Private.
  Variables (w : list Z) (bits p q a b : Z) (l : level) (people zero : Z).
  Hypothesis checked : check_shown w bits p q a b l = true.
  Notation weight := (weight_at w).
  Notation sums := (all_sums w people zero).
  Notation m := (mass w zero).

  (** "Every row sums to 2^bits." *)
  Theorem shown_rows : forall i, 0 <= i <= people -> total sums (m i) = 2 ^ bits.
  Proof.
    intros i Hi. destruct (shown_parts _ _ _ _ _ _ _ checked) as [_ [_ [_ [_ [_ [_ [_ [Hsum _]]]]]]]].
    rewrite <- Hsum, list_total. unfold all_sums, mass.
    rewrite (total_ext _ _ _ (fun y => weight (y - (i - zero)))) by (intros; f_equal; lia).
    rewrite (span_shift _ _ (i - zero) weight).
    rewrite (span_wider 0 (size_of_law w - 1)); unfold size_of_law; try lia.
    - apply total_ext. intros t Ht. apply in_span in Ht. unfold weight_at.
      now replace (t <? 0) with false by (symmetry; apply Z.ltb_ge; lia).
    - intros t _ Ht. apply weight_beyond. unfold size_of_law. lia.
  Qed.

  Lemma over_sums : forall i g, 0 <= i -> i + 1 <= people -> g (0, 0) = 0 ->
    total sums (fun y => g (m i y, m (i + 1) y)) = total (neighbours w) g.
  Proof.
    intros i g Hi Hn Hg. unfold neighbours. rewrite neighbours_total. unfold all_sums, mass.
    rewrite (total_ext _ _ _ (fun y => (fun t => g (weight t, weight (t - 1))) (y - (i - zero))))
      by (intros; do 2 f_equal; f_equal; lia).
    etransitivity; [apply (span_shift _ _ (i - zero) (fun t => g (weight t, weight (t - 1))))|].
    rewrite (span_wider 0 (size_of_law w)); unfold size_of_law; try lia.
    - apply total_ext. intros t Ht. apply in_span in Ht. f_equal. f_equal.
      + unfold weight_at. now replace (t <? 0) with false by (symmetry; apply Z.ltb_ge; lia).
      + unfold weight_at. destruct (t =? 0) eqn:E.
        * apply Z.eqb_eq in E. subst. reflexivity.
        * apply Z.eqb_neq in E. now replace (t - 1 <? 0) with false by (symmetry; apply Z.ltb_ge; lia).
    - intros t _ Ht. rewrite !weight_beyond by (unfold size_of_law; lia). exact Hg.
  Qed.

  (** "The two sums are what all outputs exceed the ratio by, in both directions." *)
  Theorem shown_excess : forall i h, 0 <= i <= people -> 0 <= h <= people -> Z.abs (i - h) = 1 ->
    forall event : Z -> bool,
    total sums (fun y => if event y then m i y * q - m h y * p else 0) * b <= a * (q * 2 ^ bits).
  Proof.
    intros i h Hi Hh Hih event.
    destruct (shown_parts _ _ _ _ _ _ _ checked) as [_ [_ [_ [_ [_ [Hb [_ [_ [H1 H2]]]]]]]]].
    assert (Hle : total sums (fun y => if event y then m i y * q - m h y * p else 0)
      <= total sums (fun y => excess_of p q (m i y) (m h y))).
    { induction sums as [|y ys IH]; [reflexivity|]. rewrite !total_cons.
      unfold excess_of at 1. destruct (event y); lia. }
    assert (Htotal : total sums (fun y => excess_of p q (m i y) (m h y)) * b <= a * (q * 2 ^ bits)).
    { destruct (Z.eq_dec h (i + 1)) as [->|Hne].
      - rewrite <- (over_sums i (fun n => excess_of p q (fst n) (snd n))) in H1 by (reflexivity || lia). exact H1.
      - replace i with (h + 1) by lia.
        rewrite <- (over_sums h (fun n => excess_of p q (snd n) (fst n))) in H2 by (reflexivity || lia). exact H2. }
    nia.
  Qed.
End Private.

(** ** For the real ε: P(event | i) <= e^ε·P(event | h) + δ for neighbouring counts i and h, where an
    event is a set of sums: whatever is made of a sum, no event tells more. *)
Section Real.
Variable F : numbers.
Add Ring ring_of_shown : (ring_laws F).

Definition chance (w : list Z) (bits people zero i : Z) (event : Z -> bool) : F :=
  mul (of_Z (total (all_sums w people zero) (fun y => if event y then mass w zero i y else 0))) (over (2 ^ bits)).

Theorem shown_sound : forall w bits p q a b l people zero, check_shown w bits p q a b l = true ->
  forall E : F, is_exp E l ->
  (forall i, 0 <= i <= people -> chance w bits people zero i (fun _ => true) = one) /\
  (forall i h event, 0 <= i <= people -> 0 <= h <= people -> Z.abs (i - h) = 1 ->
     le (chance w bits people zero i event)
        (add (mul E (chance w bits people zero h event)) (mul (of_Z a) (over b)))).
Proof.
  intros w bits p q a b l people zero H E HE.
  pose proof (shown_parts _ _ _ _ _ _ _ H) as P.
  destruct P as [Hbits [Hpq [Hs [Hbelow [Ha [Hb _]]]]]].
  assert (Hpos : 0 < 2 ^ bits) by (apply Z.pow_pos_nonneg; lia).
  pose proof (below_exp F l _ _ E Hs Hbelow HE) as Hratio.
  split.
  - intros i Hi. unfold chance.
    pose proof (shown_rows w bits p q a b l people zero H i Hi) as Hrow.
    transitivity (mul (of_Z (2 ^ bits)) (over (2 ^ bits)) : F); [|now apply (over_law F)].
    exact (f_equal (fun z => mul (of_Z z) (over (2 ^ bits)) : F) Hrow).
  - intros i h event Hi Hh Hih. unfold chance.
    set (x := total (all_sums w people zero) (fun y => if event y then mass w zero i y else 0)).
    set (v := total (all_sums w people zero) (fun y => if event y then mass w zero h y else 0)).
    assert (Hint : x * q * b <= v * p * b + a * (q * 2 ^ bits)).
    { pose proof (shown_excess w bits p q a b l people zero H i h Hi Hh Hih event) as Hex.
      assert (Hsplit : total (all_sums w people zero)
          (fun y => if event y then mass w zero i y * q - mass w zero h y * p else 0) = x * q - v * p).
      { unfold x, v. clear. induction (all_sums w people zero) as [|y ys IH]; [reflexivity|].
        rewrite !total_cons, IH. destruct (event y); ring. }
      rewrite Hsplit in Hex. lia. }
    assert (Hv : 0 <= v).
    { unfold v. clear - H. induction (all_sums w people zero) as [|y ys IH]; [reflexivity|]. rewrite total_cons.
      pose proof (weight_nonneg w bits p q a b l H (y - h + zero)) as Hn.
      fold (mass w zero h y) in Hn. destruct (event y); lia. }
    set (D := 2 ^ bits) in *.
    (* Times q·b·D: both sides are integers, but for e^ε. *)
    apply (le_cancel F (q * b * D)); [nia|].
    rewrite !(of_Z_mul F).
    replace (mul (mul (mul (of_Z q) (of_Z b)) (of_Z D)) (mul (of_Z x) (over D)))
      with (mul (mul (mul (of_Z x) (of_Z q)) (of_Z b)) (mul (of_Z D) (over D)) : F) by ring.
    replace (mul (mul (mul (of_Z q) (of_Z b)) (of_Z D)) (add (mul E (mul (of_Z v) (over D))) (mul (of_Z a) (over b))))
      with (add (mul (mul (mul (of_Z b) (of_Z v)) (mul E (of_Z q))) (mul (of_Z D) (over D)))
        (mul (mul (of_Z a) (mul (of_Z q) (of_Z D))) (mul (of_Z b) (over b))) : F) by ring.
    rewrite (over_law F D Hpos), (over_law F b Hb).
    apply (le_trans F _ (add (mul (mul (of_Z b) (of_Z v)) (of_Z p)) (mul (of_Z a) (mul (of_Z q) (of_Z D))))).
    + rewrite <- !(of_Z_mul F), <- (of_Z_add F).
      replace (mul (of_Z (x * q * b)) one) with (of_Z (x * q * b) : F) by ring.
      apply (of_Z_le F). lia.
    + apply add_le.
      * replace (mul (mul (mul (of_Z b) (of_Z v)) (mul E (of_Z q))) one)
          with (mul (mul (of_Z b) (of_Z v)) (mul E (of_Z q)) : F) by ring.
        apply mul_le_l; [|exact Hratio]. rewrite <- (of_Z_mul F). apply of_Z_nonneg. nia.
      * replace (mul (mul (of_Z a) (mul (of_Z q) (of_Z D))) one)
          with (mul (of_Z a) (mul (of_Z q) (of_Z D)) : F) by ring. apply (le_refl F).
Qed.
End Real.
