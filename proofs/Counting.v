(** * The loss of noise on a count, and a bound for every private mechanism

    _Lattice_ weights of count and path (Lattice.v, neighbours one apart). The noise is held between
    the ends; the stated loss is the worst one over all answers. No private mechanism on the same
    answers, whatever its outputs, has a worst loss below the stated bound. *)

From Coq Require Import ZArith List Ring Lia Bool.
From Tightrope Require Import Numbers Duality Exponential Questions Lattice.
Import ListNotations.
Open Scope Z_scope.

(** ** Losses by the number of steps t = |guess - answer| *)
Inductive steps_loss := Unequal | Steps | Squares.
Definition phi (k : steps_loss) (t : Z) : Z :=
  match k with Unequal => if t =? 0 then 0 else 1 | Steps => t | Squares => t * t end.

Lemma phi_rises : forall k s t, 0 <= s <= t -> 0 <= phi k s <= phi k t.
Proof.
  intros k s t H. destruct k; cbn [phi]; try nia.
  destruct (Z.eqb_spec s 0); destruct (Z.eqb_spec t 0); lia.
Qed.

(** ** The bound

    Let α = a/D. With the multipliers u_t, and u_0 = c,
      u_(t-1) - α·u_t = s·φ_t - 2·α·c, and u_t <= C + K·φ_t,
    so every column with a guess k has Σ_i x_i·(s·φ(|i-k|) - 2·α·c) >= -α·(u_k·x_0 + u_(n-k)·x_n). Added
    up over the outputs of a mechanism whose worst loss is V this is
      V·((n+1)·s + 2·α·K) >= 2·α·((n+1)·c - C).
    [scale_of] is s·D², [rate_of] is K·D, and [multiplier_of] is u_t·D. *)
Definition scale_of (k : steps_loss) (D a c : Z) : Z :=
  match k with Unequal => D * (D + a) | Steps => D * D - a * a | Squares => c * ((D - a) * (D - a)) end.
Definition rate_of (k : steps_loss) (D a c : Z) : Z :=
  match k with Unequal => 0 | Steps => D + a | Squares => c * (D - a) + D end.
Definition start_of (k : steps_loss) (c : Z) : Z := match k with Squares => c | _ => 1 end.
Definition constant_of (k : steps_loss) (c : Z) : Z := match k with Squares => c + c * c | _ => 1 end.
Definition multiplier_of (k : steps_loss) (D a c t : Z) : Z :=
  match k with
  | Unequal => D
  | Steps => D + t * (D + a)
  | Squares => c * (D + 2 * D * t + (D - a) * (t * t))
  end.

(** What is proved of a count of n people: a fraction. *)
Definition floor_top (k : steps_loss) (D a c n : Z) : Z := 2 * a * D * ((n + 1) * start_of k c - constant_of k c).
Definition floor_bottom (k : steps_loss) (D a c n : Z) : Z := (n + 1) * scale_of k D a c + 2 * a * rate_of k D a c.

Section Multipliers.
  Variables (k : steps_loss) (D a c : Z).
  Hypothesis Ha : 0 <= a < D.
  Hypothesis Hc : 0 < c.
  Notation u := (multiplier_of k D a c).
  Notation paid := (2 * a * D * start_of k c).

  Lemma multiplier_start : u 0 = D * start_of k c.
  Proof. destruct k; cbn [multiplier_of start_of]; ring. Qed.
  Lemma multiplier_nonneg : forall t, 0 <= t -> 0 <= u t.
  Proof.
    intros t Ht. destruct k; cbn [multiplier_of]; try nia.
    apply Z.mul_nonneg_nonneg; [lia|]. pose proof (Z.mul_nonneg_nonneg (D - a) (t * t)). nia.
  Qed.
  Lemma multiplier_step : forall t, 0 <= t -> D * u t - a * u (t + 1) = scale_of k D a c * phi k (t + 1) - paid.
  Proof.
    intros t Ht. destruct k; cbn [multiplier_of scale_of phi start_of]; try ring.
    destruct (Z.eqb_spec (t + 1) 0); [lia | ring].
  Qed.
  Lemma multiplier_most : forall t, 0 <= t -> u t <= D * constant_of k c + rate_of k D a c * phi k t.
  Proof.
    intros t Ht. destruct k; cbn [multiplier_of constant_of rate_of phi]; try nia.
    (* 2·c·t <= c² + t² *)
    pose proof (Z.square_nonneg (c - t)) as Hsquare.
    assert (0 <= D * ((c - t) * (c - t))) by (apply Z.mul_nonneg_nonneg; lia). lia.
  Qed.
  Lemma scale_pos : 0 < scale_of k D a c.
  Proof.
    destruct k; cbn [scale_of]; [nia | replace (D * D - a * a) with ((D - a) * (D + a)) by ring; nia |].
    apply Z.mul_pos_pos; [assumption|]. apply Z.mul_pos_pos; lia.
  Qed.
  Lemma rate_nonneg : 0 <= rate_of k D a c.
  Proof. destruct k; cbn [rate_of]; nia. Qed.
End Multipliers.

Section Bound.
  Variable F : numbers.
  Add Ring ring_of_counting : (ring_laws F).
  Local Open Scope num_scope.
  Local Notation of_Z := (@Numbers.of_Z F).

  Lemma sum_app : forall A (l m : list A) (g : A -> F), sum (l ++ m) g = sum l g + sum m g.
  Proof. intros A l m g. induction l as [|b l IH]; simpl; [|rewrite IH]; ring. Qed.

  Variables (k : steps_loss) (D a c : Z).
  Hypothesis Ha : (0 <= a < D)%Z.
  Hypothesis Hc : (0 < c)%Z.
  Notation u := (multiplier_of k D a c).
  Notation paid := (2 * a * D * start_of k c)%Z.
  Notation net t := (scale_of k D a c * phi k t - paid)%Z.

  Section Column.
    Variable x : Z -> F.

    (** One step outwards: what layer t owes is paid by layer t+1. *)
    Lemma one_more : forall (rest near far : F) t, (0 <= t)%Z -> of_Z a * near <= of_Z D * far ->
      0 <= rest + of_Z (a * u t) * near -> 0 <= of_Z (net (t + 1)) * far + rest + of_Z (a * u (t + 1)) * far.
    Proof.
      intros rest near far t Ht Hstep Hrest. rewrite <- (multiplier_step k D a c t Ht).
      replace (of_Z (D * u t - a * u (t + 1)) * far + rest + of_Z (a * u (t + 1)) * far)
        with ((rest + of_Z (a * u t) * near) + of_Z (u t) * (of_Z D * far - of_Z a * near)).
      - apply add_nonneg; [exact Hrest|]. apply (le_mul F); [|now apply sub_le].
        apply of_Z_nonneg. now apply multiplier_nonneg.
      - rewrite of_Z_sub, !(of_Z_mul F). ring.
    Qed.

    Lemma left_side : forall m i,
      (forall z, (i <= z < i + Z.of_nat m)%Z -> of_Z a * x (z + 1) <= of_Z D * x z) ->
      0 <= sum (count_from m i) (fun z => of_Z (net (i + Z.of_nat m - z)) * x z)
        - of_Z (a * u 0) * x (i + Z.of_nat m) + of_Z (a * u (Z.of_nat m)) * x i.
    Proof.
      induction m as [|m IH]; intros i H.
      - cbn [count_from sum fold_right]. replace (i + Z.of_nat 0)%Z with i by lia. change (Z.of_nat 0) with 0%Z.
        match goal with |- 0 <= ?e => replace e with (0 : F) by ring end. apply (le_refl F).
      - replace (i + Z.of_nat (S m))%Z with (i + 1 + Z.of_nat m)%Z by lia.
        replace (Z.of_nat (S m)) with (Z.of_nat m + 1)%Z by lia.
        specialize (IH (i + 1)%Z). cbn [count_from sum fold_right].
        change (fold_right (fun b rest => of_Z (net (i + 1 + Z.of_nat m - b)) * x b + rest) 0 (count_from m (i + 1)))
          with (sum (count_from m (i + 1)) (fun z => of_Z (net (i + 1 + Z.of_nat m - z)) * x z)).
        set (inner := sum (count_from m (i + 1)) _) in *.
        replace (i + 1 + Z.of_nat m - i)%Z with (Z.of_nat m + 1)%Z by lia.
        pose proof (one_more (inner - of_Z (a * u 0) * x (i + 1 + Z.of_nat m)) (x (i + 1)%Z) (x i) (Z.of_nat m)
          ltac:(lia) (H i ltac:(lia)) (IH ltac:(intros; apply H; lia))) as Hmore.
        match goal with |- 0 <= ?e => match type of Hmore with 0 <= ?g => replace e with g by ring end end.
        exact Hmore.
    Qed.

    Lemma right_side : forall m i,
      (forall z, (i <= z < i + Z.of_nat m)%Z -> of_Z a * x z <= of_Z D * x (z + 1)) ->
      0 <= sum (count_from m (i + 1)) (fun z => of_Z (net (z - i)) * x z)
        - of_Z (a * u 0) * x i + of_Z (a * u (Z.of_nat m)) * x (i + Z.of_nat m).
    Proof.
      induction m as [|m IH]; intros i H.
      - cbn [count_from sum fold_right]. replace (i + Z.of_nat 0)%Z with i by lia. change (Z.of_nat 0) with 0%Z.
        match goal with |- 0 <= ?e => replace e with (0 : F) by ring end. apply (le_refl F).
      - specialize (IH i ltac:(intros; apply H; lia)).
        replace (S m) with (m + 1)%nat by lia. rewrite count_from_app, sum_app.
        cbn [count_from sum fold_right].
        fold (@sum F Z (count_from m (i + 1)) (fun z => of_Z (net (z - i)) * x z)) in *.
        replace (i + 1 + Z.of_nat m - i)%Z with (Z.of_nat m + 1)%Z by lia.
        replace (Z.of_nat (m + 1)) with (Z.of_nat m + 1)%Z by lia.
        replace (i + (Z.of_nat m + 1))%Z with (i + Z.of_nat m + 1)%Z by lia.
        replace (i + 1 + Z.of_nat m)%Z with (i + Z.of_nat m + 1)%Z by lia.
        pose proof (one_more (sum (count_from m (i + 1)) (fun z => of_Z (net (z - i)) * x z) - of_Z (a * u 0) * x i)
          (x (i + Z.of_nat m)%Z) (x (i + Z.of_nat m + 1)%Z) (Z.of_nat m)
          ltac:(lia) (H (i + Z.of_nat m)%Z ltac:(lia)) IH) as Hmore.
        match goal with |- 0 <= ?e => match type of Hmore with 0 <= ?g => replace e with g by ring end end.
        exact Hmore.
    Qed.

    Variable n : Z.
    Hypothesis Hstep : forall z, (0 <= z < n)%Z ->
      of_Z a * x z <= of_Z D * x (z + 1) /\ of_Z a * x (z + 1) <= of_Z D * x z.

    Lemma column_floor : forall g, (0 <= g <= n)%Z ->
      0 <= sum (range (n + 1)) (fun i => of_Z (net (Z.abs (g - i))) * x i)
        + of_Z (a * u g) * x 0%Z + of_Z (a * u (n - g)) * x n.
    Proof.
      intros g Hg.
      pose proof (left_side (Z.to_nat g) 0 ltac:(intros; apply Hstep; lia)) as Hleft.
      pose proof (right_side (Z.to_nat (n - g)) g ltac:(intros; apply Hstep; lia)) as Hright.
      rewrite !Z2Nat.id in * by lia. rewrite Z.add_0_l in Hleft.
      replace (g + (n - g))%Z with n in Hright by lia.
      unfold range. replace (Z.to_nat (n + 1)) with (Z.to_nat g + (1 + Z.to_nat (n - g)))%nat by lia.
      rewrite !count_from_app, !sum_app. cbn [count_from]. rewrite Z.add_0_l, Z2Nat.id by lia.
      change (Z.of_nat 1) with 1%Z.
      rewrite (sum_ext F _ (count_from (Z.to_nat g) 0) _ (fun z => of_Z (net (g - z)) * x z))
        by (intros z Hz; apply in_count_from in Hz; do 5 f_equal; lia).
      rewrite (sum_ext F _ (count_from (Z.to_nat (n - g)) (g + 1)) _ (fun z => of_Z (net (z - g)) * x z))
        by (intros z Hz; apply in_count_from in Hz; do 5 f_equal; lia).
      cbn [sum fold_right].
      fold (@sum F Z (count_from (Z.to_nat g) 0) (fun z => of_Z (net (g - z)) * x z)) in *.
      fold (@sum F Z (count_from (Z.to_nat (n - g)) (g + 1)) (fun z => of_Z (net (z - g)) * x z)) in *.
      set (L := sum (count_from (Z.to_nat g) 0) _) in *.
      set (R := sum (count_from (Z.to_nat (n - g)) (g + 1)) _) in *.
      replace (net (Z.abs (g - g)))%Z with (- (a * u 0) - a * u 0)%Z.
      - rewrite of_Z_sub. replace (of_Z (- (a * u 0))) with (0 - of_Z (a * u 0) : F)
          by (rewrite <- (of_Z_zero F), <- of_Z_sub; f_equal; lia).
        pose proof (add_nonneg F _ _ Hleft Hright) as Hboth.
        match goal with |- 0 <= ?e => match type of Hboth with 0 <= ?h => replace e with h by ring end end.
        exact Hboth.
      - rewrite Z.sub_diag, multiplier_start. replace (phi k (Z.abs 0)) with 0%Z by (destruct k; reflexivity). lia.
    Qed.
  End Column.

  (** "No private mechanism for a count has a worst loss below
      2·α·((n+1)·c - C) / ((n+1)·s + 2·α·K)", whatever its outputs. *)
  Theorem count_floor : forall n (E : F), (0 <= n)%Z -> of_Z a * E <= of_Z D ->
    forall O (M : list O) column guess V,
    rows F Z (range (n + 1)) Z O (range (n + 1)) column guess M ->
    all_private F Z (range (n + 1)) (within 1) (fun _ _ => E) O column M ->
    (forall i, In i (range (n + 1)) -> sum M (fun o => of_Z (phi k (Z.abs (guess o - i))) * column o i) <= V) ->
    of_Z (floor_top k D a c n) <= of_Z (floor_bottom k D a c n) * V.
  Proof.
    intros n E Hn HE O M column guess V [Hguess Hrows] Hpriv Hloss.
    pose proof (scale_pos k D a c Ha Hc) as Hscale. pose proof (rate_nonneg k D a c Ha Hc) as Hrate.
    set (S := scale_of k D a c) in *. set (K := rate_of k D a c) in *. set (C := constant_of k c).
    assert (Hcolumn : forall o, In o M -> 0 <= sum (range (n + 1)) (fun i => of_Z (net (Z.abs (guess o - i))) * column o i)
        + of_Z (a * u (guess o)) * column o 0%Z + of_Z (a * u (n - guess o)) * column o n).
    { intros o Ho. pose proof (Hguess o Ho) as Hg. apply in_range in Hg. apply column_floor; [|lia].
      destruct (Hpriv o Ho) as [Hpos Hratio].
      assert (Hneighbour : forall y z, (0 <= y <= n)%Z -> (0 <= z <= n)%Z -> within 1 y z = true ->
        of_Z a * column o y <= of_Z D * column o z).
      { intros y z Hy Hz Hnear. apply (le_trans F _ (of_Z a * (E * column o z))).
        - apply mul_le_l; [apply of_Z_nonneg; lia|]. apply Hratio; try apply in_range; auto; lia.
        - replace (of_Z a * (E * column o z)) with (column o z * (of_Z a * E)) by ring.
          replace (of_Z D * column o z) with (column o z * of_Z D) by ring.
          apply mul_le_l; [apply Hpos, in_range; lia | exact HE]. }
      intros z Hz. split; apply Hneighbour; try lia; unfold within; apply andb_true_intro;
        (split; [apply negb_true_iff, Z.eqb_neq; lia | apply Z.leb_le; lia]). }
    apply (sum_nonneg F) in Hcolumn. rewrite !sum_add in Hcolumn.
    (* What all outputs lose under each answer is at most V. *)
    assert (Hinside : sum M (fun o => sum (range (n + 1)) (fun i => of_Z (net (Z.abs (guess o - i))) * column o i))
      <= of_Z (n + 1) * (of_Z S * V - of_Z paid)).
    { rewrite sum_swap. apply (le_trans F _ (sum (range (n + 1)) (fun _ => of_Z S * V - of_Z paid))).
      - apply sum_le. intros i Hi.
        rewrite (sum_ext F _ M _ (fun o => of_Z S * (of_Z (phi k (Z.abs (guess o - i))) * column o i) - of_Z paid * column o i))
          by (intros; rewrite of_Z_sub, (of_Z_mul F); fold S; ring).
        rewrite sum_sub, !sum_mul, (Hrows i Hi). apply le_sub.
        match goal with |- 0 <= ?e => replace e with
          (of_Z S * (V - sum M (fun o => of_Z (phi k (Z.abs (guess o - i))) * column o i))) by ring end.
        apply (le_mul F); [apply of_Z_nonneg; lia | apply sub_le; now apply Hloss].
      - assert (Hconst : forall (v : F) m i, sum (count_from m i) (fun _ => v) = of_Z (Z.of_nat m) * v).
        { intros v. induction m as [|m IH]; intros i; [cbn; rewrite (of_Z_zero F); ring|].
          cbn [count_from sum fold_right]. fold (@sum F Z (count_from m (i + 1)) (fun _ => v)). rewrite IH.
          replace (Z.of_nat (Datatypes.S m)) with (Z.of_nat m + 1)%Z by lia. rewrite (of_Z_add F), (of_Z_one F). ring. }
        unfold range. rewrite Hconst, Z2Nat.id by lia. apply (le_refl F). }
    (* So is what they lose at an end, which pays for the multipliers there. *)
    assert (Hend : forall e, In e (range (n + 1)) -> forall t : O -> Z,
      (forall o, In o M -> (0 <= t o)%Z /\ t o = Z.abs (guess o - e)) ->
      sum M (fun o => of_Z (a * u (t o)) * column o e) <= of_Z a * (of_Z (D * C) + of_Z K * V)).
    { intros e He t Ht. apply (le_trans F _ (sum M (fun o => of_Z a * (of_Z (D * C) * column o e
        + of_Z K * (of_Z (phi k (Z.abs (guess o - e))) * column o e))))).
      - apply sum_le. intros o Ho. destruct (Ht o Ho) as [H0 Hdist]. rewrite <- Hdist.
        replace (of_Z a * (of_Z (D * C) * column o e + of_Z K * (of_Z (phi k (t o)) * column o e)))
          with (column o e * (of_Z (a * (D * C + K * phi k (t o)))))
          by (rewrite !(of_Z_mul F), !(of_Z_add F), !(of_Z_mul F); ring).
        replace (of_Z (a * u (t o)) * column o e) with (column o e * of_Z (a * u (t o))) by ring.
        apply mul_le_l; [now apply (Hpriv o Ho)|]. apply (of_Z_le F).
        apply Z.mul_le_mono_nonneg_l; [lia|]. now apply multiplier_most.
      - rewrite sum_mul, sum_add, !sum_mul, (Hrows e He).
        apply mul_le_l; [apply of_Z_nonneg; lia|].
        replace (of_Z (D * C) * 1) with (of_Z (D * C)) by ring. apply add_le; [apply (le_refl F)|].
        apply mul_le_l; [now apply of_Z_nonneg | now apply Hloss]. }
    pose proof (Hend 0%Z ltac:(apply in_range; lia) guess
      ltac:(intros o Ho; specialize (Hguess o Ho); apply in_range in Hguess; lia)) as Hfirst.
    pose proof (Hend n ltac:(apply in_range; lia) (fun o => n - guess o)%Z
      ltac:(intros o Ho; specialize (Hguess o Ho); apply in_range in Hguess; lia)) as Hlast.
    cbv beta in Hlast.
    pose proof (add_le F _ _ _ _ (add_le F _ _ _ _ Hinside Hfirst) Hlast) as Hall.
    pose proof (le_trans F _ _ _ Hcolumn Hall) as Hnonneg. apply le_sub.
    match goal with |- 0 <= ?e => match type of Hnonneg with 0 <= ?g => replace e with g end end; [exact Hnonneg|].
    unfold floor_bottom, floor_top. fold S K C.
    rewrite !(of_Z_mul F), !(of_Z_add F), !of_Z_sub, !(of_Z_mul F), !(of_Z_add F).
    replace (of_Z 2) with (1 + 1 : F) by (change 2%Z with (1 + 1)%Z; now rewrite (of_Z_add F), (of_Z_one F)). ring.
  Qed.
End Bound.

(** ** The loss of noise that is held between the ends *)
Definition held (f : noise) (y : Z) : Z := Z.max 0 (Z.min y (people f)).

(** Σ_t 2·φ_t·(w_t - w_T), and for the floor w_T of all points the loss of none of them. *)
Definition loss_top (k : steps_loss) (f : noise) : Z :=
  let lowest := floor f in
  2 * total (combine (count_from (length (later f)) 1) (later f)) (fun p => phi k (fst p) * (snd p - lowest))
  + lowest * box f * phi k (2 * (people f + reach f)).

(** The number that the bound of squared losses is best with, nearly. *)
Definition split_of (a n : Z) : Z := Z.max 1 (Z.min (n / 2) (up (2 ^ 62) (2 ^ 62 - a))).

Definition check_count (k : steps_loss) (f : noise) (l : level) (stated : Z * Z) (bound : option (Z * Z)) : bool :=
  check_noise f l && (width f =? 1) &&
  (0 <? snd stated) && (fst stated * 2 ^ bits f =? loss_top k f * snd stated) &&
  match bound with
  | None => true
  | Some (top, bottom) =>
      let a := alpha_of l in
      let c := split_of a (people f) in
      (a <? 2 ^ 62) && (0 <? bottom) &&
      (top * floor_bottom k (2 ^ 62) a c (people f) <=? bottom * floor_top k (2 ^ 62) a c (people f))
  end.

Section Loss.
  Variables (k : steps_loss) (f : noise) (l : level).
  Hypothesis checked : check_noise f l = true.
  Hypothesis narrow : width f = 1.
  Notation cost z := (excess f z * phi k (Z.abs z)).

  Lemma no_core : core f = 0.
  Proof. destruct (parts f l checked) as [_ [Hcore _]]. lia. Qed.

  Lemma excess_nonneg : forall z, 0 <= excess f z.
  Proof.
    intros z. pose proof (depth_nonneg f l checked z) as Hd. pose proof (T_pos f) as HT.
    pose proof (lev_fall f l checked (depth f z) (Z.max (depth f z) (T f)) ltac:(lia)) as Hfall.
    assert (Hlast : lev f (Z.max (depth f z) (T f)) = floor f).
    { unfold lev, level_from. replace (Z.min (Z.max (depth f z) (T f)) (T f)) with (Z.min (T f) (T f)) by lia.
      apply (level_floor f (w0 f)). }
    unfold excess. lia.
  Qed.

  Lemma weight_is : forall x y, W f x y = excess f (y - x) + floor f.
  Proof.
    intros x y. assert (Hodd : odd f = 0) by (unfold odd, centre; rewrite no_core; apply Z.mod_1_r).
    unfold W, excess. rewrite Hodd. destruct (y =? x); lia.
  Qed.

  Lemma listed_sum : forall (g : Z -> Z) low e i,
    (forall j, (j < length e)%nat -> g (i + Z.of_nat j) = nth j e 0 - low) -> 0 < i ->
    total (count_from (length e) i) (fun z => g z * phi k (Z.abs z))
    = total (combine (count_from (length e) i) e) (fun p => phi k (fst p) * (snd p - low)).
  Proof.
    intros g low. induction e as [|w e IH]; intros i H Hi; [reflexivity|].
    cbn [length count_from combine]. rewrite !total_cons. cbn [fst snd]. rewrite IH.
    - pose proof (H 0%nat ltac:(simpl; lia)) as H0. cbn [nth] in H0. rewrite Z.add_0_r in H0.
      rewrite H0, Z.abs_eq by lia. ring.
    - intros j Hj. replace (i + 1 + Z.of_nat j) with (i + Z.of_nat (S j)) by lia. rewrite H by (simpl; lia). reflexivity.
    - lia.
  Qed.

  Lemma side_cost : total (count_from (length (later f)) 1) (fun z => cost z)
    = total (combine (count_from (length (later f)) 1) (later f)) (fun p => phi k (fst p) * (snd p - floor f)).
  Proof.
    apply listed_sum; [|lia]. intros j Hj. unfold excess. f_equal.
    rewrite (depth_is f l checked (Z.of_nat (S j))) by (rewrite ?no_core, ?narrow; lia).
    unfold lev, level_from. rewrite Z.min_l by (unfold T; lia). rewrite Nat2Z.id. reflexivity.
  Qed.

  Lemma whole_cost : forall x, 0 <= x <= people f ->
    total (points f) (fun y => cost (y - x))
    = 2 * total (combine (count_from (length (later f)) 1) (later f)) (fun p => phi k (fst p) * (snd p - floor f)).
  Proof.
    intros x Hx. pose proof (T_pos f) as HT. rewrite <- side_cost. unfold points.
    rewrite (total_shift _ _ x (fun z => cost z)).
    assert (Hreach : reach f = Z.of_nat (length (later f))) by (unfold reach, T; rewrite no_core, narrow; lia).
    set (n := length (later f)) in *.
    replace (Z.to_nat (box f)) with (Z.to_nat x + (n + (1 + (n + Z.to_nat (people f - x)))))%nat
      by (unfold box; lia).
    rewrite !count_from_app, !total_app.
    rewrite (total_ext _ (count_from (Z.to_nat x) _) _ (fun _ => 0))
      by (intros z Hz; apply in_count_from in Hz; rewrite (excess_beyond f l checked) by lia; reflexivity).
    rewrite (total_ext _ (count_from (Z.to_nat (people f - x)) _) _ (fun _ => 0))
      by (intros z Hz; apply in_count_from in Hz; rewrite (excess_beyond f l checked) by lia; reflexivity).
    rewrite !total_const.
    replace (- reach f - x + Z.of_nat (Z.to_nat x)) with (- (1 + Z.of_nat n) + 1) by lia.
    rewrite (total_mirror n 1 (fun z => cost z)) by (intros z; rewrite (excess_even f), Z.abs_opp; reflexivity).
    replace (- (1 + Z.of_nat n) + 1 + Z.of_nat n) with 0 by lia.
    cbn [count_from]. change (0 + Z.of_nat 1) with 1. rewrite total_cons.
    replace (phi k (Z.abs 0)) with 0 by (destruct k; reflexivity).
    change (total [] (fun z => cost z)) with 0. lia.
  Qed.

  (** "Held between the ends, noise loses at most the stated loss under every answer." *)
  Theorem count_loss : forall x, 0 <= x <= people f ->
    total (points f) (fun y => W f x y * phi k (Z.abs (held f y - x))) <= loss_top k f.
  Proof.
    intros x Hx. pose proof (T_pos f) as HT. destruct (parts f l checked) as [Hp [_ [_ [_ [_ [_ [Hfloor _]]]]]]].
    assert (Hreach : 0 <= reach f) by (unfold reach; rewrite no_core, narrow; lia).
    assert (Hle : forall A (L : list A) g h, (forall b, In b L -> g b <= h b) -> total L g <= total L h).
    { induction L as [|b L IH]; intros g h H; [unfold total; simpl; lia|]. rewrite !total_cons.
      pose proof (H b (or_introl eq_refl)). specialize (IH g h (fun d Hd => H d (or_intror Hd))). lia. }
    apply (Z.le_trans _ (total (points f) (fun y => cost (y - x) + floor f * phi k (2 * (people f + reach f))))).
    - apply Hle. intros y _. rewrite weight_is, Z.mul_add_distr_r.
      pose proof (phi_rises k (Z.abs (held f y - x)) (Z.abs (y - x)) ltac:(unfold held; lia)) as Hnear.
      pose proof (phi_rises k (Z.abs (held f y - x)) (2 * (people f + reach f)) ltac:(unfold held; lia)) as Hfar.
      apply Z.add_le_mono; apply Z.mul_le_mono_nonneg_l; try lia. apply excess_nonneg.
    - rewrite total_add, whole_cost by assumption. unfold points at 1. rewrite total_const, Z2Nat.id by (unfold box; lia).
      unfold loss_top. cbv zeta. lia.
  Qed.
End Loss.

(** ** What the judge says of noise on a count

    If [check_count] holds, then for numbers of every kind, with E = exp(ε): the rows are
    probabilities and private; the loss is at most the stated one under every answer; and no private
    mechanism on the same answers, with whatever outputs, has a worst loss below the stated bound. *)
Section Real.
Variable F : numbers.
Add Ring ring_of_claims : (ring_laws F).

Theorem count_sound : forall k f l stated bound, check_count k f l stated bound = true ->
  forall E : F, is_exp E l ->
  let P x y := mul (of_Z (W f x y)) (over (2 ^ bits f)) in
  let people := range (people f + 1) in
  (forall x, In x people -> sum (points f) (P x) = (one : F)) /\
  (forall y, private F Z people (within 1) (fun _ _ => E) (fun x => P x y)) /\
  (forall x, In x people -> le (sum (points f) (fun y => mul (of_Z (phi k (Z.abs (held f y - x)))) (P x y)))
     (mul (of_Z (fst stated)) (over (snd stated)))) /\
  (forall top bottom, bound = Some (top, bottom) -> forall O (M : list O) column guess V,
     rows F Z people Z O people column guess M -> all_private F Z people (within 1) (fun _ _ => E) O column M ->
     (forall i, In i people -> le (sum M (fun o => mul (of_Z (phi k (Z.abs (guess o - i)))) (column o i))) V) ->
     le (mul (of_Z top) (over bottom)) V).
Proof.
  intros k f l stated bound H E HE P people. unfold check_count in H.
  apply andb_prop in H as [H Hbound]. apply andb_prop in H as [H Hstated]. apply andb_prop in H as [H Hunit].
  apply andb_prop in H as [Hnoise Hnarrow]. apply Z.eqb_eq in Hnarrow, Hstated. apply Z.ltb_lt in Hunit.
  destruct (noise_sound F f l Hnoise E HE) as [Hrows Hprivate]. rewrite Hnarrow in Hprivate.
  pose proof (parts f l Hnoise) as C. destruct C as [Hp [_ [Hbits [_ [Hsound _]]]]].
  assert (Hpos : 0 < 2 ^ bits f) by (apply Z.pow_pos_nonneg; lia).
  split; [|split; [exact Hprivate|split]].
  - intros x Hx. apply in_range in Hx. apply Hrows. lia.
  - intros x Hx. apply in_range in Hx. pose proof (count_loss k f l Hnoise Hnarrow x ltac:(lia)) as Hloss.
    apply (le_cancel F (2 ^ bits f)); [exact Hpos|]. apply (le_cancel F (snd stated)); [exact Hunit|].
    rewrite <- sum_mul.
    rewrite (sum_ext F _ _ _ (fun y => of_Z (W f x y * phi k (Z.abs (held f y - x))))).
    + rewrite <- sum_of_Z. rewrite <- (of_Z_mul F).
      match goal with |- le _ ?e => replace e with
        (mul (mul (of_Z (snd stated)) (over (snd stated))) (of_Z (fst stated * 2 ^ bits f)) : F)
        by (rewrite (of_Z_mul F); ring) end.
      rewrite (over_law F) by exact Hunit. rewrite Hstated.
      replace (mul one (of_Z (loss_top k f * snd stated))) with (of_Z (snd stated * loss_top k f) : F)
        by (rewrite Z.mul_comm; ring).
      apply (of_Z_le F). apply Z.mul_le_mono_nonneg_l; lia.
    + intros y _. unfold P. rewrite (of_Z_mul F).
      transitivity (mul (mul (of_Z (2 ^ bits f)) (over (2 ^ bits f))) (mul (of_Z (W f x y)) (of_Z (phi k (Z.abs (held f y - x))))) : F);
        [ring|]. rewrite (over_law F) by exact Hpos. ring.
  - intros top bottom -> O M column guess V HM Hpriv Hloss. cbv zeta in Hbound.
    apply andb_prop in Hbound as [Hbound Hle]. apply andb_prop in Hbound as [Ha Hbottom].
    apply Z.ltb_lt in Ha, Hbottom. apply Z.leb_le in Hle.
    destruct (alpha_exp F l E Hsound HE) as [Ha0 HaE].
    set (a := alpha_of l) in *. set (c := split_of a (Lattice.people f)) in *. set (D := 2 ^ 62) in *.
    assert (Hc : 0 < c) by (unfold c, split_of; lia).
    pose proof (count_floor F k D a c (conj Ha0 Ha) Hc (Lattice.people f) E Hp HaE O M column guess V HM Hpriv Hloss) as Hfloor.
    pose proof (scale_pos k D a c (conj Ha0 Ha) Hc) as Hscale. pose proof (rate_nonneg k D a c (conj Ha0 Ha) Hc) as Hrate.
    assert (Hden : 0 < floor_bottom k D a c (Lattice.people f)) by (unfold floor_bottom; nia).
    set (den := floor_bottom k D a c (Lattice.people f)) in *. set (num := floor_top k D a c (Lattice.people f)) in *.
    apply (le_cancel F den); [exact Hden|]. apply (le_cancel F bottom); [exact Hbottom|].
    match goal with |- le ?e _ => replace e with (mul (mul (of_Z bottom) (over bottom)) (of_Z (top * den)) : F)
      by (rewrite (of_Z_mul F); ring) end.
    rewrite (over_law F) by exact Hbottom. replace (mul one (of_Z (top * den))) with (of_Z (top * den) : F) by ring.
    apply (le_trans F _ (of_Z (bottom * num))); [now apply (of_Z_le F)|]. rewrite (of_Z_mul F).
    apply mul_le_l; [apply of_Z_nonneg; lia | exact Hfloor].
Qed.
End Real.
