(** * Limits on what an attacker gains

    An attacker who does w gains a_w(i) under answer i; over the outputs he gains
    V = Σ_o max_w a_w·x_o. A file states V, and limits V or the loss; the other one is least. *)

From Coq Require Import ZArith List Ring Lia Bool.
From Tightrope Require Import Numbers Duality Exponential Questions Judge Soundness.
Import ListNotations.
Open Scope Z_scope.

Inductive attacker :=
| Guesser                                            (* knows the prior, gains 1 by a right guess *)
| Attacks (actions unit : Z) (a : Z -> Z -> Z).      (* a w i over its unit *)

Record limit := {
  of_loss : bool;                                    (* whether the loss is limited, or V *)
  most : Z * Z;
  vulnerability : Z * Z;
  who : attacker;
  theta : Z;                                         (* over the scale of the certificate *)
  choice : Z -> Z -> Z                               (* q_k(w), over the same *)
}.

Section Limits.
  Variable f : file.
  Variable c : consumer.
  Variable m : limit.

  Definition actions : list Z :=
    match who m with Guesser => answers f | Attacks n _ _ => range n end.
  Definition parts : Z := match who m with Guesser => snd (prior_of c) | Attacks _ d _ => d end.
  Definition attack (w i : Z) : Z :=
    match who m with Guesser => if w =? i then fst (prior_of c) i else 0 | Attacks _ _ a => a w i end.
  Definition gain_at (o w : Z) : Z := total (answers f) (fun i => attack w i * weight f i o).
  Definition best_at (o : Z) : Z :=
    match map (gain_at o) actions with [] => 0 | x :: rest => fold_right Z.max x rest end.
  Definition chosen (k w : Z) : Z := Z.max 0 (choice m k w).

  Definition at_most (x y : Z * Z) : bool :=
    (0 <? snd x) && (0 <? snd y) && (fst x * snd y <=? fst y * snd x).

  Definition check_gains : bool :=
    match support c, prior c, delta f with None, Some _, None => true | _, _, _ => false end &&
    (0 <? parts) &&
    equal (vulnerability m) (total (range (outputs f)) best_at, total_weight f * parts) &&
    at_most (if of_loss m then expected_loss c else vulnerability m) (most m).

  Definition times_of (p : certificate) : Z := if of_loss m then theta m else scale p.
  Definition share_of (p : certificate) : Z := if of_loss m then scale p else theta m.
  Definition limit_unit (p : certificate) : Z := cost_unit f c * parts * scale p.
  Definition limited_cost (p : certificate) (k i : Z) : Z :=
    times_of p * cost f c k i * parts
    + total actions (fun w => chosen k w * attack w i) * cost_unit f c.

  (** Prices and multipliers are over [limit_unit]. *)
  Definition check_limit (t : list (Z * list Z)) (p : certificate) : bool :=
    let ks := range (guesses c) in
    let alphas := map alpha_of (levels f) in
    let alpha i h := nth (which f i h) alphas 0 in
    let one := 2 ^ 62 in
    (0 <? scale p) && (0 <=? theta m) && (0 <? snd (most m)) &&
    forallb (fun arc => near f (fst arc) (snd arc)) (arcs p) &&
    forallb (fun k => total actions (chosen k) =? share_of p) ks &&
    forallb (fun k => forallb (fun row => let '(i, around) := row in
      total around (fun h => one * m_of p k h i - alpha i h * m_of p k i h)
        <=? one * (limited_cost p k i - price p i)) t) ks &&
    equal (bound p)
      (total (answers f) (price p) * snd (most m) - theta m * fst (most m) * (cost_unit f c * parts),
       limit_unit p * snd (most m)).
End Limits.

Open Scope num_scope.
Section Soundness.
  Variable f : file.
  Variable c : consumer.
  Variable m : limit.
  Hypothesis asked_by : whose f = Some c.
  Hypothesis file_holds : check f = true.
  Hypothesis gains_hold : check_gains f c m = true.
  Variable F : numbers.
  Add Ring ring_of_limits : (ring_laws F).
  Local Notation of_Z := (@Numbers.of_Z F).
  Local Notation over := (@Numbers.over F).
  Variable E : Z -> Z -> F.
  Hypothesis exps : forall i h, In i (answers f) -> In h (answers f) ->
    near f i h = true -> is_exp (E i h) (level_of f i h).

  Definition attack_of (w i : Z) : F := of_Z (attack c m w i) * over (parts c m).
  Definition gains_at_most {O} (V : F) (M : list O) (column : O -> Z -> F) : Prop :=
    gains F Z (answers f) O column Z (actions f m) attack_of V M.

  Lemma file_parts : (0 <= bits f)%Z /\ check_ratios f = true /\ check_rows f = true /\
    check_private f (table f) = true /\ check_consumer f (table f) c = true.
  Proof.
    pose proof file_holds as H. unfold check in H. rewrite asked_by in H.
    apply andb_prop in H as [H Hw]. apply andb_prop in Hw as [Hw _]. apply andb_prop in H as [H Hp].
    apply andb_prop in H as [H Hr]. apply andb_prop in H as [H Hq]. apply andb_prop in H as [H _].
    apply andb_prop in H as [_ Hb]. apply Z.leb_le in Hb. auto.
  Qed.

  Lemma gain_parts : support c = None /\ (exists pr, prior c = Some pr) /\ delta f = None /\
    (0 < parts c m)%Z /\
    equal (vulnerability m) (total (range (outputs f)) (best_at f c m), total_weight f * parts c m)%Z = true /\
    at_most (if of_loss m then expected_loss c else vulnerability m) (most m) = true.
  Proof.
    pose proof gains_hold as H. unfold check_gains in H.
    apply andb_prop in H as [H H4]. apply andb_prop in H as [H H3]. apply andb_prop in H as [H1 H2].
    apply Z.ltb_lt in H2. destruct (support c); [discriminate|].
    destruct (prior c) as [pr|]; [|discriminate]. destruct (delta f); [discriminate|].
    repeat split; eauto.
  Qed.

  Lemma best_is : forall o w, In w (actions f m) -> (gain_at f c m o w <= best_at f c m o)%Z.
  Proof.
    intros o w Hw. unfold best_at. apply (in_map (gain_at f c m o)) in Hw.
    destruct (map (gain_at f c m o) (actions f m)) as [|x rest]; [contradiction|].
    destruct Hw as [->|Hw].
    - induction rest as [|y rest IH]; simpl; lia.
    - induction rest as [|y rest IH]; [contradiction|]. simpl. destruct Hw as [->|Hw]; [lia|].
      specialize (IH Hw). lia.
  Qed.

  (** "V is computed exactly, and the limit is kept." *)
  Theorem own_gains : gains_at_most (frac F (vulnerability m)) (own_outputs f) (own_column f F).
  Proof.
    destruct file_parts as [Hbits [_ [Hrows [_ _]]]]. destruct gain_parts as [_ [_ [_ [Hparts [Heq _]]]]].
    pose proof (total_weight_pos f Hbits) as HT.
    exists (fun o => of_Z (best_at f c m o) * over (total_weight f * parts c m)). split.
    - intros o w Ho Hw. unfold gain.
      rewrite (sum_ext F _ _ _ (fun i => of_Z (attack c m w i * weight f i o)
        * over (total_weight f * parts c m))).
      + rewrite sum_mul_r, <- sum_of_Z. apply frac_le; [nia|]. now apply best_is.
      + intros i _. unfold attack_of, own_column. rewrite over_mul, (of_Z_mul F) by assumption. ring.
    - rewrite (equal_frac F _ _ Heq). unfold frac. cbn [fst snd].
      rewrite sum_mul_r, <- sum_of_Z. apply (le_refl F).
  Qed.

  Lemma at_most_le : forall x y, at_most x y = true -> frac F x <= frac F y.
  Proof.
    intros [a b] [p q] H. unfold at_most in H. cbn [fst snd] in H.
    apply andb_prop in H as [H H3]. apply andb_prop in H as [H1 H2].
    apply Z.ltb_lt in H1, H2. apply Z.leb_le in H3. unfold frac. cbn [fst snd].
    rewrite (frac_same F a b (a * q) (b * q)) by nia.
    rewrite (frac_same F p q (p * b) (b * q)) by nia. apply frac_le; nia.
  Qed.

  Theorem limit_kept :
    frac F (if of_loss m then expected_loss c else vulnerability m) <= frac F (most m).
  Proof. apply at_most_le. apply gain_parts. Qed.

  Variable p : certificate.
  Hypothesis limit_holds : check_limit f c m (table f) p = true.

  Definition U : Z := limit_unit f c m p.
  Definition mult_of (k i h : Z) : F := of_Z (m_of p k i h) * over U.
  Definition price_of (i : Z) : F := of_Z (price p i) * over U.
  Definition q_of (k w : Z) : F := of_Z (chosen m k w) * over (scale p).

  Lemma limit_parts : (0 < scale p)%Z /\ (0 <= theta m)%Z /\ (0 < snd (most m))%Z /\
    (forall k, In k (range (guesses c)) -> total (actions f m) (chosen m k) = share_of m p) /\
    (forall k i, In k (range (guesses c)) -> In i (answers f) ->
      (total (filter (near f i) (answers f))
        (fun h => 2 ^ 62 * m_of p k h i - alpha_at f i h * m_of p k i h)
        <= 2 ^ 62 * (limited_cost f c m p k i - price p i))%Z) /\
    equal (bound p)
      (total (answers f) (price p) * snd (most m) - theta m * fst (most m) * (cost_unit f c * parts c m),
       U * snd (most m))%Z = true.
  Proof.
    pose proof limit_holds as H. unfold check_limit in H.
    apply andb_prop in H as [H H6]. apply andb_prop in H as [H H5]. apply andb_prop in H as [H H4].
    apply andb_prop in H as [H _]. apply andb_prop in H as [H H3]. apply andb_prop in H as [H1 H2].
    apply Z.ltb_lt in H1, H3. apply Z.leb_le in H2.
    repeat split; auto.
    - intros k Hk. rewrite forallb_forall in H4. apply Z.eqb_eq. now apply H4.
    - intros k i Hk Hi. rewrite forallb_forall in H5. specialize (H5 k Hk).
      rewrite forallb_forall in H5. specialize (H5 (i, filter (near f i) (answers f))).
      apply Z.leb_le. apply H5. unfold table. apply in_map_iff. exists i. auto.
  Qed.

  Lemma units_pos : (0 < snd (prior_of c))%Z /\ (0 < cost_unit f c)%Z /\ (0 < U)%Z.
  Proof.
    destruct file_parts as [_ [_ [_ [_ Hc]]]]. destruct gain_parts as [_ [[[pr all] Hpr] [_ [Hparts _]]]].
    destruct limit_parts as [Hs _]. pose proof (loss_unit_pos f c Hc) as Hl.
    destruct (prior_sound f c Hc pr all Hpr) as [Hall _].
    assert (Hp : (0 < snd (prior_of c))%Z) by (unfold prior_of; rewrite Hpr; exact Hall).
    assert (Hcu : (0 < cost_unit f c)%Z) by (unfold cost_unit; nia).
    repeat split; auto. unfold U, limit_unit. nia.
  Qed.

  Lemma limited_condition : forall k i, In k (range (guesses c)) -> In i (answers f) ->
    inflow F Z (answers f) (near f) (alpha f F) (mult_of k) i <=
    frac F (times_of m p, scale p) * (prior_at F c i * loss_of f F c k i)
    + sum (actions f m) (fun w => q_of k w * attack_of w i) - price_of i.
  Proof.
    intros k i Hk Hi. destruct units_pos as [Hprior [Hcu Hu]].
    destruct file_parts as [_ [_ [_ [_ Hc]]]]. destruct gain_parts as [_ [_ [_ [Hparts _]]]].
    destruct limit_parts as [Hs [_ [_ [_ [H _]]]]]. specialize (H k i Hk Hi).
    apply (frac_le F _ _ (2 ^ 62 * U)) in H; [|lia].
    rewrite over_mul, sum_of_Z in H by (try reflexivity; assumption).
    replace (inflow F Z (answers f) (near f) (alpha f F) (mult_of k) i) with
      (sum (filter (near f i) (answers f)) (fun h =>
        of_Z (2 ^ 62 * m_of p k h i - alpha_at f i h * m_of p k i h)%Z) * (over (2 ^ 62) * over U)).
    - replace (frac F (times_of m p, scale p) * (prior_at F c i * loss_of f F c k i)
          + sum (actions f m) (fun w => q_of k w * attack_of w i) - price_of i) with
        (of_Z (2 ^ 62 * (limited_cost f c m p k i - price p i)) * (over (2 ^ 62) * over U));
        [exact H|].
      rewrite (cost_frac f F c Hc) by exact Hprior.
      rewrite (sum_ext F _ (actions f m) _ (fun w => of_Z (chosen m k w * attack c m w i)
        * (over (scale p) * over (parts c m)))).
      2: { intros w _. unfold q_of, attack_of. rewrite (of_Z_mul F). ring. }
      rewrite sum_mul_r, <- sum_of_Z.
      rewrite (of_Z_mul F), of_Z_sub. unfold limited_cost. rewrite (of_Z_add F), !(of_Z_mul F).
      unfold frac, price_of. cbn [fst snd].
      set (S := of_Z (total (actions f m) (fun w => (chosen m k w * attack c m w i)%Z))).
      assert (HU : over U = over (cost_unit f c) * over (parts c m) * over (scale p)).
      { unfold U, limit_unit. rewrite !over_mul by nia. ring. }
      transitivity (of_Z (2 ^ 62) * over (2 ^ 62) *
        (of_Z (times_of m p) * of_Z (cost f c k i) * of_Z (parts c m) * over U
         + S * of_Z (cost_unit f c) * over U - of_Z (price p i) * over U)); [ring|].
      rewrite (over_law F) by reflexivity. rewrite HU at 1 2.
      transitivity (of_Z (times_of m p) * over (scale p) * (of_Z (cost f c k i) * over (cost_unit f c))
          * (of_Z (parts c m) * over (parts c m))
        + S * (over (scale p) * over (parts c m)) * (of_Z (cost_unit f c) * over (cost_unit f c))
        - of_Z (price p i) * over U); [ring|].
      rewrite !(over_law F) by assumption. ring.
    - unfold inflow. rewrite <- sum_mul_r. apply sum_ext. intros h _.
      unfold mult_of, alpha. rewrite of_Z_sub, !(of_Z_mul F).
      transitivity (of_Z (2 ^ 62) * over (2 ^ 62) * (of_Z (m_of p k h i) * over U)
        - of_Z (alpha_at f i h) * over (2 ^ 62) * (of_Z (m_of p k i h) * over U)); [ring|].
      rewrite (over_law F) by reflexivity. ring.
  Qed.

  (** "Under a limit v on V the loss is at least Σ λ_i - θ·v", and the other way round. *)
  Theorem limited_bound : forall O (M : list O) column guess V L,
    rows F Z (answers f) Z O (range (guesses c)) column guess M ->
    keeps_privacy f F E M column -> gains_at_most V M column ->
    expected F Z (answers f) Z O column guess (fun k i => prior_at F c i * loss_of f F c k i) M <= L ->
    if of_loss m then L <= frac F (most m) -> frac F (bound p) <= V
    else V <= frac F (most m) -> frac F (bound p) <= L.
  Proof.
    intros O M column guess V L Hrows Hpriv HV HL.
    destruct units_pos as [Hprior [Hcu Hu]]. destruct file_parts as [_ [Hratios [_ [Hprivate Hc]]]].
    destruct gain_parts as [_ [_ [Hdelta [Hparts _]]]].
    destruct limit_parts as [Hs [Htheta [Hmost [Hshare [_ Hbound]]]]].
    unfold keeps_privacy in Hpriv. rewrite Hdelta in Hpriv.
    assert (Hshare0 : (0 <= share_of m p)%Z) by (unfold share_of; destruct (of_loss m); lia).
    assert (Htimes0 : (0 <= times_of m p)%Z) by (unfold times_of; destruct (of_loss m); lia).
    assert (Hnonneg : forall z, (0 <= z)%Z -> 0 <= of_Z z * over (scale p)).
    { intros z Hz. apply (le_mul F); [now apply of_Z_nonneg | now apply over_nonneg]. }
    assert (H := weak_duality_limit F Z (answers f) (near f) E (alpha f F)
      (alpha_nonneg f F Hratios)
      (fun i h Hi Hh Hih => proj2 (alpha_bound f F E exps Hratios Hprivate i h Hi Hh Hih))
      (near_sym f) Z O (range (guesses c)) column guess Z (actions f m) attack_of mult_of
      (fun k i => prior_at F c i * loss_of f F c k i) price_of q_of
      (frac F (share_of m p, scale p)) (frac F (times_of m p, scale p))).
    specialize (H ltac:(intros; apply (le_mul F); [apply of_Z_nonneg; unfold m_of; lia | now apply over_nonneg])).
    specialize (H limited_condition).
    specialize (H ltac:(intros; apply Hnonneg; unfold chosen; lia)).
    specialize (H ltac:(intros k Hk; unfold q_of, frac; cbn [fst snd];
      rewrite sum_mul_r, <- sum_of_Z;
      change (total (actions f m) (fun w => chosen m k w)) with (total (actions f m) (chosen m k));
      rewrite (Hshare k Hk); reflexivity)).
    specialize (H (Hnonneg _ Hshare0) M V Hrows Hpriv HV).
    set (loss := expected F Z (answers f) Z O column guess
      (fun k i => prior_at F c i * loss_of f F c k i) M) in *.
    assert (Hb : frac F (bound p) =
      sum (answers f) price_of - frac F (theta m, scale p) * frac F (most m)).
    { rewrite (equal_frac F _ _ Hbound). unfold frac, price_of. cbn [fst snd].
      rewrite sum_mul_r, <- sum_of_Z, over_mul by assumption.
      change (total (answers f) (fun i => price p i)) with (total (answers f) (price p)).
      set (S := total (answers f) (price p)). rewrite of_Z_sub, !(of_Z_mul F).
      assert (HU : over U = over (cost_unit f c) * over (parts c m) * over (scale p)).
      { unfold U, limit_unit. rewrite !over_mul by nia. ring. }
      transitivity (of_Z S * over U * (of_Z (snd (most m)) * over (snd (most m)))
        - of_Z (theta m) * of_Z (fst (most m)) * over (snd (most m))
          * (of_Z (cost_unit f c) * of_Z (parts c m) * over U)); [ring|].
      rewrite HU at 2.
      transitivity (of_Z S * over U * (of_Z (snd (most m)) * over (snd (most m)))
        - of_Z (theta m) * of_Z (fst (most m)) * over (snd (most m)) * over (scale p)
          * (of_Z (cost_unit f c) * over (cost_unit f c)) * (of_Z (parts c m) * over (parts c m))); [ring|].
      rewrite !(over_law F) by assumption. ring. }
    assert (Hone : frac F (scale p, scale p) = 1) by (unfold frac; cbn [fst snd]; now apply (over_law F)).
    unfold times_of, share_of in *.
    destruct (of_loss m); intros Hlimit; rewrite Hb; rewrite Hone in H.
    - apply (le_trans F _ (frac F (theta m, scale p) * loss + 1 * V - frac F (theta m, scale p) * frac F (most m))).
      + apply le_sub. apply sub_le in H.
        match goal with |- 0 <= ?g => match type of H with 0 <= ?t => replace g with t by ring end end. exact H.
      + apply le_sub.
        replace (V - (frac F (theta m, scale p) * loss + 1 * V - frac F (theta m, scale p) * frac F (most m)))
          with (frac F (theta m, scale p) * (frac F (most m) - loss)) by ring.
        apply (le_mul F); [now apply Hnonneg|]. apply sub_le. now apply (le_trans F _ L).
    - apply (le_trans F _ (1 * loss + frac F (theta m, scale p) * V - frac F (theta m, scale p) * frac F (most m))).
      + apply le_sub. apply sub_le in H.
        match goal with |- 0 <= ?g => match type of H with 0 <= ?t => replace g with t by ring end end. exact H.
      + apply (le_trans F _ loss); [|exact HL]. apply le_sub.
        replace (loss - (1 * loss + frac F (theta m, scale p) * V - frac F (theta m, scale p) * frac F (most m)))
          with (frac F (theta m, scale p) * (frac F (most m) - V)) by ring.
        apply (le_mul F); [now apply Hnonneg | now apply sub_le].
  Qed.
End Soundness.
