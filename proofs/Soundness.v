(** * The judge may be believed

    Read [judge_sound] at the end first; what stands before it leads there. *)

From Coq Require Import ZArith List Ring Lia Bool.
From Tightrope Require Import Numbers Duality Exponential Questions Judge Distances.
Import ListNotations.
Open Scope num_scope.

Section Soundness.
  Variable f : file.
  Variable F : numbers.
  Add Ring ring_of_soundness : (ring_laws F).

  Local Notation of_Z := (@Numbers.of_Z F).
  Local Notation over := (@Numbers.over F).

  (** [E i h] is exp(ε·length) of the edge between [i] and [h]. *)
  Variable E : Z -> Z -> F.
  Hypothesis exps : forall i h, In i (answers f) -> In h (answers f) ->
    near f i h = true -> is_exp (E i h) (level_of f i h).

  Definition frac (x : Z * Z) : F := of_Z (fst x) * over (snd x).

  (** ** Fractions *)
  Lemma over_mul : forall a b, (0 < a)%Z -> (0 < b)%Z -> over (a * b) = over a * over b :> F.
  Proof.
    intros a b Ha Hb.
    transitivity (over (a * b) * (of_Z a * over a) * (of_Z b * over b)).
    - rewrite !(over_law F) by assumption. ring.
    - transitivity ((of_Z a * of_Z b) * over (a * b) * (over a * over b)); [ring|].
      rewrite <- (of_Z_mul F), (over_law F) by lia. ring.
  Qed.

  Lemma frac_le : forall a b n, (0 < n)%Z -> (a <= b)%Z -> of_Z a * over n <= (of_Z b * over n : F).
  Proof.
    intros. replace (of_Z a * over n) with (over n * of_Z a) by ring.
    replace (of_Z b * over n) with (over n * of_Z b) by ring.
    apply mul_le_l; [now apply over_nonneg | now apply (of_Z_le F)].
  Qed.

  Lemma frac_same : forall a b c d, (0 < b)%Z -> (0 < d)%Z -> (a * d = c * b)%Z ->
    of_Z a * over b = (of_Z c * over d : F).
  Proof.
    intros a b c d Hb Hd H.
    transitivity (of_Z a * over b * (of_Z d * over d)); [rewrite (over_law F) by assumption; ring|].
    transitivity (of_Z (a * d) * over b * over d); [rewrite (of_Z_mul F); ring|].
    rewrite H, (of_Z_mul F).
    transitivity (of_Z c * over d * (of_Z b * over b)); [ring|].
    rewrite (over_law F) by assumption. ring.
  Qed.

  Lemma equal_frac : forall x y, equal x y = true -> frac x = frac y.
  Proof.
    intros x y H. unfold equal in H. apply andb_prop in H as [H H3]. apply andb_prop in H as [H1 H2].
    apply Z.ltb_lt in H1, H2. apply Z.eqb_eq in H3. now apply frac_same.
  Qed.

  Lemma sum_map : forall A B (g : A -> B) (l : list A) (h : B -> F),
    sum (map g l) h = sum l (fun a => h (g a)).
  Proof. induction l as [|a l IH]; simpl; intros; [reflexivity|]. now rewrite IH. Qed.

  Lemma sum_mul_r : forall A (l : list A) (g : A -> F) c,
    sum l (fun a => g a * c) = sum l g * c.
  Proof. intros. induction l as [|a l IH]; simpl; [|rewrite IH]; ring. Qed.

  Lemma total_mul : forall A (l : list A) (g : A -> Z) c,
    total l (fun a => (g a * c)%Z) = (total l g * c)%Z.
  Proof.
    induction l as [|a l IH]; intros; [reflexivity|]. rewrite !total_cons, IH. ring.
  Qed.

  Lemma total_le : forall A (l : list A) (g h : A -> Z),
    (forall a, In a l -> g a <= h a)%Z -> (total l g <= total l h)%Z.
  Proof.
    induction l as [|a l IH]; intros g h H; [unfold total; simpl; lia|].
    rewrite !total_cons. pose proof (H a (or_introl eq_refl)).
    assert (total l g <= total l h)%Z by (apply IH; intros; apply H; right; assumption). lia.
  Qed.

  (** ** What the tests of the judge say *)
  Lemma near_sym : forall i h, near f i h = near f h i.
  Proof.
    intros i h. unfold near. destruct (asked f) as [[q r]|g]; [apply orb_comm|].
    now rewrite Z.min_comm, Z.max_comm.
  Qed.

  Lemma pairs_hold : forall test, all_pairs (table f) test = true ->
    forall i h, In i (answers f) -> In h (answers f) -> near f i h = true -> test i h = true.
  Proof.
    intros test H i h Hi Hh Hih. unfold all_pairs, table in H.
    rewrite forallb_forall in H.
    specialize (H (i, filter (near f i) (answers f))).
    assert (Hin : In (i, filter (near f i) (answers f))
      (map (fun i => (i, filter (near f i) (answers f))) (answers f))).
    { apply in_map_iff. exists i. auto. }
    specialize (H Hin). cbn [fst snd] in H. rewrite forallb_forall in H.
    apply H, filter_In. auto.
  Qed.

  Hypothesis ratios_hold : check_ratios f = true.

  Lemma ratio_sound : forall i h, In i (answers f) -> In h (answers f) -> near f i h = true ->
    (which f i h < length (ratios f))%nat ->
    (0 < fst (ratio_of f i h))%Z /\ (0 < snd (ratio_of f i h))%Z /\
    of_Z (fst (ratio_of f i h)) <= E i h * of_Z (snd (ratio_of f i h)) /\
    sound (level_of f i h) = true.
  Proof.
    intros i h Hi Hh Hih Hlt. unfold check_ratios in ratios_hold.
    apply andb_prop in ratios_hold as [Hlen Hall]. apply Nat.eqb_eq in Hlen.
    rewrite forallb_forall in Hall.
    assert (Hin : In (level_of f i h, ratio_of f i h) (combine (levels f) (ratios f))).
    { unfold level_of, ratio_of. rewrite <- combine_nth by exact Hlen.
      apply nth_In. rewrite combine_length. lia. }
    specialize (Hall _ Hin). cbn [fst snd] in Hall.
    apply andb_prop in Hall as [Hall Hbelow]. apply andb_prop in Hall as [Hsound _].
    pose proof Hbelow as Hpq. unfold below in Hpq. apply andb_prop in Hpq as [Hpq _].
    apply andb_prop in Hpq as [Hp Hq]. apply Z.ltb_lt in Hp, Hq.
    repeat split; auto.
    apply (below_exp F (level_of f i h)); auto.
  Qed.

  (** ** The mechanism of the file *)
  Hypothesis bits_hold : (0 <= bits f)%Z.
  Hypothesis rows_hold : check_rows f = true.
  Hypothesis private_holds : check_private f (table f) = true.

  Lemma total_weight_pos : (0 < total_weight f)%Z.
  Proof. unfold total_weight. apply Z.pow_pos_nonneg; lia. Qed.

  (** Output o of the file, under each answer. *)
  Definition own_column (o : Z) (i : Z) : F := of_Z (weight f i o) * over (total_weight f).
  Definition own_outputs : list Z := range (outputs f).

  Lemma weights_nonneg : forall i o, In i (answers f) -> In o own_outputs -> (0 <= weight f i o)%Z.
  Proof.
    intros i o Hi Ho. unfold check_rows in rows_hold. rewrite forallb_forall in rows_hold.
    specialize (rows_hold i Hi). apply andb_prop in rows_hold as [H _].
    rewrite forallb_forall in H. apply Z.leb_le. now apply H.
  Qed.

  Lemma own_nonneg : forall i o, In i (answers f) -> In o own_outputs -> 0 <= own_column o i.
  Proof.
    intros. apply (le_mul F); [apply of_Z_nonneg; now apply weights_nonneg|].
    apply over_nonneg, total_weight_pos.
  Qed.

  Theorem own_rows : forall i, In i (answers f) -> sum own_outputs (fun o => own_column o i) = 1.
  Proof.
    intros i Hi. unfold own_column. rewrite sum_mul_r, <- sum_of_Z.
    unfold check_rows in rows_hold. rewrite forallb_forall in rows_hold.
    specialize (rows_hold i Hi). apply andb_prop in rows_hold as [_ H].
    apply Z.eqb_eq in H. unfold own_outputs.
    change (total (range (outputs f)) (fun o => weight f i o)) with (total (range (outputs f)) (weight f i)).
    rewrite H. apply (over_law F), total_weight_pos.
  Qed.

  Lemma pair_private : forall i h, In i (answers f) -> In h (answers f) -> near f i h = true ->
    exists p q, (0 < q)%Z /\ of_Z p <= E i h * of_Z q /\
    match delta f with
    | None => forall o, In o own_outputs -> (weight f i o * q <= weight f h o * p)%Z
    | Some (a, b) => (0 <= a)%Z /\ (0 < b)%Z /\
        (total own_outputs (fun o => Z.max 0 (weight f i o * q - weight f h o * p)) * b
          <= a * (q * total_weight f))%Z
    end.
  Proof.
    intros i h Hi Hh Hih.
    pose proof (pairs_hold _ private_holds i h Hi Hh Hih) as H. cbv beta in H.
    apply andb_prop in H as [Hw H]. apply Nat.ltb_lt in Hw.
    destruct (ratio_sound i h Hi Hh Hih Hw) as [_ [Hq [Hp _]]].
    destruct (ratio_of f i h) as [p q]. cbn [fst snd] in *.
    exists p, q. repeat split; [exact Hq | exact Hp |].
    destruct (delta f) as [[a b]|].
    - apply andb_prop in H as [H Hle]. apply andb_prop in H as [Ha Hb].
      apply Z.leb_le in Ha, Hle. apply Z.ltb_lt in Hb. auto.
    - rewrite forallb_forall in H. intros o Ho. apply Z.leb_le. now apply H.
  Qed.

  (** Both kinds of privacy, by what the file names. *)
  Definition keeps_privacy {O} (M : list O) (column : O -> Z -> F) : Prop :=
    match delta f with
    | None => all_private F Z (answers f) (near f) E O column M
    | Some d => slack_private F Z (answers f) (near f) E O column (frac d) M
    end.

  Theorem own_private : keeps_privacy own_outputs own_column.
  Proof.
    unfold keeps_privacy.
    pose proof total_weight_pos as HT.
    destruct (delta f) as [[a b]|] eqn:Hdelta.
    - split; [intros; now apply own_nonneg|].
      intros i h Hi Hh Hih.
      destruct (pair_private i h Hi Hh Hih) as [p [q [Hq [Hp Hd]]]].
      rewrite Hdelta in Hd. destruct Hd as [Ha [Hb Hsum]].
      set (over_by := fun o => Z.max 0 (weight f i o * q - weight f h o * p)) in *.
      exists (fun o => of_Z (over_by o) * over (q * total_weight f)).
      assert (HqT : (0 < q * total_weight f)%Z) by nia. split.
      + intros o Ho. split; [apply (le_mul F); [apply of_Z_nonneg; unfold over_by; lia | now apply over_nonneg]|].
        apply (le_cancel F q); [exact Hq|]. unfold own_column. rewrite over_mul by assumption.
        pose proof (over_law F q Hq) as Hinv.
        replace (of_Z q * (E i h * (of_Z (weight f h o) * over (total_weight f))
            + of_Z (over_by o) * (over q * over (total_weight f))))
          with (over (total_weight f) * (E i h * of_Z q * of_Z (weight f h o)
            + (of_Z q * over q) * of_Z (over_by o))) by ring.
        rewrite Hinv.
        replace (of_Z q * (of_Z (weight f i o) * over (total_weight f)))
          with (over (total_weight f) * (of_Z q * of_Z (weight f i o))) by ring.
        apply mul_le_l; [apply over_nonneg; exact HT|].
        apply (le_trans F _ (of_Z p * of_Z (weight f h o) + of_Z (over_by o))).
        * rewrite <- !(of_Z_mul F), <- (of_Z_add F). apply (of_Z_le F). unfold over_by. lia.
        * apply add_le; [|replace (1 * of_Z (over_by o)) with (of_Z (over_by o) : F) by ring; apply (le_refl F)].
          replace (of_Z p * of_Z (weight f h o)) with (of_Z (weight f h o) * of_Z p) by ring.
          replace (E i h * of_Z q * of_Z (weight f h o))
            with (of_Z (weight f h o) * (E i h * of_Z q)) by ring.
          apply mul_le_l; [apply of_Z_nonneg, weights_nonneg; assumption | exact Hp].
      + rewrite sum_mul_r, <- sum_of_Z. unfold frac. cbn [fst snd].
        change (total own_outputs (fun o => over_by o)) with (total own_outputs over_by).
        rewrite (frac_same a b (a * (q * total_weight f)) (b * (q * total_weight f))) by nia.
        rewrite (frac_same (total own_outputs over_by) (q * total_weight f)
          (total own_outputs over_by * b) (b * (q * total_weight f))) by nia.
        apply frac_le; [nia | exact Hsum].
    - intros o Ho. split; [intros; now apply own_nonneg|].
      intros i h Hi Hh Hih.
      destruct (pair_private i h Hi Hh Hih) as [p [q [Hq [Hp Hd]]]].
      rewrite Hdelta in Hd. specialize (Hd o Ho).
      apply (le_cancel F q); [exact Hq|]. unfold own_column.
      replace (of_Z q * (of_Z (weight f i o) * over (total_weight f)))
        with (over (total_weight f) * (of_Z q * of_Z (weight f i o))) by ring.
      replace (of_Z q * (E i h * (of_Z (weight f h o) * over (total_weight f))))
        with (over (total_weight f) * (of_Z (weight f h o) * (E i h * of_Z q))) by ring.
      apply mul_le_l; [apply over_nonneg; exact HT|].
      apply (le_trans F _ (of_Z (weight f h o) * of_Z p)).
      + rewrite <- !(of_Z_mul F). apply (of_Z_le F). lia.
      + apply mul_le_l; [apply of_Z_nonneg, weights_nonneg; assumption | exact Hp].
  Qed.

  (** ** The consumer *)
  Definition prior_at (c : consumer) (i : Z) : F :=
    of_Z (fst (prior_of c) i) * over (snd (prior_of c)).
  Definition loss_of (c : consumer) (k i : Z) : F := of_Z (loss_at f c k i) * over (loss_unit f c).

  (** A mechanism loses at most [L]: under the prior, or under every possible answer. *)
  Definition loses_at_most (c : consumer) {O} (M : list O) (column : O -> Z -> F) (guess : O -> Z)
      (L : F) : Prop :=
    match support c with
    | None => expected F Z (answers f) Z O column guess (fun k i => prior_at c i * loss_of c k i) M <= L
    | Some possible => forall i, In i (answers f) -> possible i = true ->
        sum M (fun o => loss_of c (guess o) i * column o i) <= L
    end.

  Section Consumer.
    Variable c : consumer.
    Hypothesis consumer_holds : check_consumer f (table f) c = true.

    Lemma loss_unit_pos : (0 < loss_unit f c)%Z.
    Proof.
      unfold check_consumer in consumer_holds.
      repeat (apply andb_prop in consumer_holds as [consumer_holds _]).
      now apply Z.ltb_lt.
    Qed.

    Lemma prior_sound : forall p all, prior c = Some (p, all) ->
      (0 < all)%Z /\ (forall i, In i (answers f) -> (0 <= p i)%Z) /\ total (answers f) p = all.
    Proof.
      intros p all Hp. unfold check_consumer in consumer_holds.
      apply andb_prop in consumer_holds as [H _]. apply andb_prop in H as [_ H].
      rewrite Hp in H. apply andb_prop in H as [H H3]. apply andb_prop in H as [H1 H2].
      apply Z.ltb_lt in H1. apply Z.eqb_eq in H3. rewrite forallb_forall in H2.
      repeat split; auto. intros i Hi. apply Z.leb_le. now apply H2.
    Qed.

    Lemma cost_frac : forall k i, (0 < snd (prior_of c))%Z ->
      prior_at c i * loss_of c k i = of_Z (cost f c k i) * over (cost_unit f c).
    Proof.
      intros k i Hpos. unfold prior_at, loss_of, cost, cost_unit.
      rewrite over_mul, (of_Z_mul F) by (try assumption; apply loss_unit_pos). ring.
    Qed.

    Theorem own_loss :
      loses_at_most c own_outputs own_column (guess_of c) (frac (expected_loss c)).
    Proof.
      pose proof loss_unit_pos as Hunit. pose proof total_weight_pos as HT.
      unfold loses_at_most.
      pose proof consumer_holds as Hcheck. unfold check_consumer in Hcheck.
      apply andb_prop in Hcheck as [_ Hloss].
      destruct (support c) as [possible|] eqn:Hsupport.
      - destruct (expected_loss c) as [a b].
        apply andb_prop in Hloss as [Hloss _]. apply andb_prop in Hloss as [Hloss Hrow].
        apply andb_prop in Hloss as [_ Hb]. apply Z.ltb_lt in Hb.
        rewrite forallb_forall in Hrow.
        intros i Hi Hpossible. specialize (Hrow i ltac:(apply filter_In; auto)).
        apply Z.leb_le in Hrow.
        set (row := fun o => (loss_at f c (guess_of c o) i * weight f i o)%Z) in *.
        rewrite (sum_ext F _ _ _ (fun o => of_Z (row o) * over (loss_unit f c * total_weight f))).
        + rewrite sum_mul_r, <- sum_of_Z. unfold frac. cbn [fst snd].
          change (total own_outputs (fun a => row a)) with (total own_outputs row).
          set (u := (loss_unit f c * total_weight f)%Z) in *.
          assert (Hu : (0 < u)%Z) by (unfold u; nia).
          rewrite (frac_same a b (a * u) (b * u)) by nia.
          rewrite (frac_same (total own_outputs row) u (total own_outputs row * b) (b * u)) by nia.
          apply frac_le; [nia | exact Hrow].
        + intros o _. unfold loss_of, own_column, row.
          rewrite over_mul, (of_Z_mul F) by assumption. ring.
      - destruct (prior c) as [[p all]|] eqn:Hprior; [|discriminate].
        apply equal_frac in Hloss. rewrite Hloss.
        assert (Hpos : (0 < snd (prior_of c))%Z).
        { unfold prior_of. rewrite Hprior. cbn [snd]. now apply (prior_sound p). }
        assert (Hcu : (0 < cost_unit f c)%Z) by (unfold cost_unit; nia).
        unfold frac, expected. cbn [fst snd]. rewrite sum_of_Z, <- sum_mul_r.
        match goal with |- ?x <= ?y => replace x with y; [apply (le_refl F)|] end.
        apply sum_ext. intros o _. rewrite sum_of_Z, <- sum_mul_r. apply sum_ext. intros i _.
        rewrite cost_frac by exact Hpos. unfold own_column.
        rewrite over_mul, (of_Z_mul F) by assumption. ring.
    Qed.

    (** ** The bound *)
    Variable p : certificate.
    Hypothesis proof_holds : check_proof f (table f) c p = true.

    Definition alpha_at (i h : Z) : Z := nth (which f i h) (map alpha_of (levels f)) 0%Z.
    Definition alpha (i h : Z) : F := of_Z (alpha_at i h) * over (2 ^ 62).
    Definition bound_unit : Z := (cost_unit f c * scale p)%Z.
    Definition mult (k i h : Z) : F := of_Z (m_of p k i h) * over bound_unit.
    Definition price_at (i : Z) : F := of_Z (price p i) * over bound_unit.

    Lemma level_sound : forall i h, (which f i h < length (levels f))%nat -> sound (level_of f i h) = true.
    Proof.
      intros i h Hlt. unfold check_ratios in ratios_hold.
      apply andb_prop in ratios_hold as [Hlen Hall]. apply Nat.eqb_eq in Hlen.
      rewrite forallb_forall in Hall.
      specialize (Hall (level_of f i h, ratio_of f i h)).
      assert (Hin : In (level_of f i h, ratio_of f i h) (combine (levels f) (ratios f))).
      { unfold level_of, ratio_of. rewrite <- combine_nth by exact Hlen.
        apply nth_In. rewrite combine_length. lia. }
      specialize (Hall Hin). cbn [fst snd] in Hall.
      now apply andb_prop in Hall as [Hall _]; apply andb_prop in Hall as [Hall _].
    Qed.

    Lemma alpha_bound : forall i h, In i (answers f) -> In h (answers f) -> near f i h = true ->
      (0 <= alpha_at i h)%Z /\ alpha i h * E i h <= 1.
    Proof.
      intros i h Hi Hh Hih.
      assert (Hw : (which f i h < length (ratios f))%nat).
      { pose proof (pairs_hold _ private_holds i h Hi Hh Hih) as H. cbv beta in H.
        apply andb_prop in H as [Hw _]. now apply Nat.ltb_lt. }
      destruct (ratio_sound i h Hi Hh Hih Hw) as [_ [_ [_ Hs]]].
      assert (Ha : alpha_at i h = alpha_of (level_of f i h)).
      { unfold alpha_at, level_of. pose proof ratios_hold as Hlen. unfold check_ratios in Hlen.
        apply andb_prop in Hlen as [Hlen _]. apply Nat.eqb_eq in Hlen.
        rewrite (nth_indep _ 0%Z (alpha_of (Natural 0 1))) by (rewrite map_length; lia).
        apply map_nth. }
      destruct (alpha_exp F (level_of f i h) (E i h) Hs (exps i h Hi Hh Hih)) as [H0 H1].
      rewrite <- Ha in H0, H1. split; [exact H0|].
      apply (le_cancel F (2 ^ 62)); [reflexivity|]. unfold alpha.
      replace (of_Z (2 ^ 62) * (of_Z (alpha_at i h) * over (2 ^ 62) * E i h))
        with ((of_Z (2 ^ 62) * over (2 ^ 62)) * (of_Z (alpha_at i h) * E i h)) by ring.
      rewrite (over_law F) by reflexivity.
      replace (1 * (of_Z (alpha_at i h) * E i h)) with (of_Z (alpha_at i h) * E i h) by ring.
      replace (of_Z (2 ^ 62) * 1) with (of_Z (2 ^ 62) : F) by ring. exact H1.
    Qed.

    Lemma alpha_nonneg : forall i h, 0 <= alpha i h.
    Proof.
      intros i h. apply (le_mul F); [|apply over_nonneg; reflexivity]. apply of_Z_nonneg.
      unfold alpha_at. destruct (Nat.lt_ge_cases (which f i h) (length (levels f))) as [H|H].
      - rewrite (nth_indep _ 0%Z (alpha_of (Natural 0 1))) by (rewrite map_length; lia).
        rewrite map_nth. apply alpha_of_nonneg. now apply level_sound.
      - rewrite nth_overflow by (rewrite map_length; lia). lia.
    Qed.

    Lemma proof_parts :
      (exists pr, prior c = Some pr) /\ (0 < scale p)%Z /\
      (forall k i, In k (range (guesses c)) -> In i (answers f) ->
        (total (filter (near f i) (answers f))
          (fun h => 2 ^ 62 * m_of p k h i - alpha_at i h * m_of p k i h)
          <= 2 ^ 62 * (cost f c k i * scale p - price p i))%Z).
    Proof.
      unfold check_proof in proof_holds.
      apply andb_prop in proof_holds as [H _]. apply andb_prop in H as [H Hall].
      apply andb_prop in H as [H _]. apply andb_prop in H as [Hprior Hscale].
      split; [destruct (prior c) as [pr|]; [eauto | discriminate]|].
      apply Z.ltb_lt in Hscale. split; [exact Hscale|].
      intros k i Hk Hi. rewrite forallb_forall in Hall. specialize (Hall k Hk).
      rewrite forallb_forall in Hall.
      specialize (Hall (i, filter (near f i) (answers f))).
      apply Z.leb_le. apply Hall. unfold table. apply in_map_iff. exists i. auto.
    Qed.

    Lemma cost_unit_pos : (0 < cost_unit f c)%Z.
    Proof.
      destruct proof_parts as [[[pr all] Hprior] _]. unfold cost_unit, prior_of. rewrite Hprior.
      cbn [snd]. pose proof loss_unit_pos. destruct (prior_sound pr all Hprior) as [Hall _]. nia.
    Qed.

    Lemma prior_total_pos : (0 < snd (prior_of c))%Z.
    Proof.
      destruct proof_parts as [[[pr all] Hprior] _]. unfold prior_of. rewrite Hprior.
      cbn [snd]. now apply (prior_sound pr).
    Qed.

    Lemma bound_unit_pos : (0 < bound_unit)%Z.
    Proof.
      unfold bound_unit. pose proof cost_unit_pos as Hc. destruct proof_parts as [_ [Hs _]]. nia.
    Qed.

    Lemma condition : forall k i, In k (range (guesses c)) -> In i (answers f) ->
      inflow F Z (answers f) (near f) alpha (mult k) i
        <= prior_at c i * loss_of c k i - price_at i.
    Proof.
      intros k i Hk Hi. destruct proof_parts as [_ [Hscale H]]. specialize (H k i Hk Hi).
      pose proof bound_unit_pos as Hu.
      apply (frac_le _ _ (2 ^ 62 * bound_unit)) in H; [|lia].
      rewrite over_mul in H by (try reflexivity; assumption).
      rewrite sum_of_Z in H.
      replace (inflow F Z (answers f) (near f) alpha (mult k) i) with
        (sum (filter (near f i) (answers f)) (fun h =>
          of_Z (2 ^ 62 * m_of p k h i - alpha_at i h * m_of p k i h)%Z)
          * (over (2 ^ 62) * over bound_unit)).
      - replace (prior_at c i * loss_of c k i - price_at i) with
          (of_Z (2 ^ 62 * (cost f c k i * scale p - price p i)) * (over (2 ^ 62) * over bound_unit));
          [exact H|].
        rewrite cost_frac by apply prior_total_pos.
        rewrite (of_Z_mul F), of_Z_sub.
        replace (of_Z (2 ^ 62) * (of_Z (cost f c k i * scale p) - of_Z (price p i))
            * (over (2 ^ 62) * over bound_unit))
          with (of_Z (2 ^ 62) * over (2 ^ 62) * (of_Z (cost f c k i * scale p) * over bound_unit
            - of_Z (price p i) * over bound_unit)) by ring.
        rewrite (over_law F) by reflexivity. unfold price_at.
        rewrite (frac_same (cost f c k i) (cost_unit f c) (cost f c k i * scale p) bound_unit);
          [ring | apply cost_unit_pos | exact Hu | unfold bound_unit; ring].
      - unfold inflow. rewrite <- sum_mul_r. apply sum_ext. intros h _.
        unfold mult, alpha. rewrite of_Z_sub, !(of_Z_mul F).
        transitivity (of_Z (2 ^ 62) * over (2 ^ 62) * (of_Z (m_of p k h i) * over bound_unit)
          - of_Z (alpha_at i h) * over (2 ^ 62) * (of_Z (m_of p k i h) * over bound_unit));
          [ring|].
        rewrite (over_law F) by reflexivity. ring.
    Qed.

    Lemma mult_nonneg : forall k i h, 0 <= mult k i h.
    Proof.
      intros. apply (le_mul F); [apply of_Z_nonneg; unfold m_of; lia|].
      apply over_nonneg, bound_unit_pos.
    Qed.

    Definition most (i h : Z) : F := of_Z (largest p (range (guesses c)) i h) * over bound_unit.

    Lemma largest_is : forall ks i h, (0 <= largest p ks i h)%Z /\
      (forall k, In k ks -> (m_of p k i h <= largest p ks i h)%Z).
    Proof.
      induction ks as [|k ks IH]; intros i h; simpl; [split; [lia | intros ? []]|].
      destruct (IH i h) as [H1 H2]. split; [lia|].
      intros j [-> | Hj]; [lia|]. specialize (H2 j Hj). lia.
    Qed.

    Lemma loss_below : forall O (M : list O) column guess L,
      (forall i, In i (answers f) -> sum M (fun o => column o i) = 1) ->
      loses_at_most c M column guess L ->
      expected F Z (answers f) Z O column guess (fun k i => prior_at c i * loss_of c k i) M <= L.
    Proof.
      intros O M column guess L Hrows H. unfold loses_at_most in H.
      destruct (support c) as [possible|] eqn:Hsupport; [|exact H].
      destruct proof_parts as [[[pr all] Hprior] _].
      destruct (prior_sound pr all Hprior) as [Hall [Hpos Hsum]].
      apply worst_case.
      - intros i Hi. unfold prior_at, prior_of. rewrite Hprior. cbn [fst snd].
        apply (le_mul F); [apply of_Z_nonneg, Hpos, Hi | now apply over_nonneg].
      - unfold prior_at, prior_of. rewrite Hprior. cbn [fst snd].
        rewrite sum_mul_r, <- sum_of_Z.
        change (total (answers f) (fun a => pr a)) with (total (answers f) pr).
        rewrite Hsum. now apply (over_law F).
      - intros i Hi. destruct (possible i) eqn:Hi'; [right; auto|left].
        pose proof consumer_holds as Hs. unfold check_consumer in Hs.
        apply andb_prop in Hs as [_ Hs]. rewrite Hsupport, Hprior in Hs.
        destruct (expected_loss c) as [a b].
        do 3 apply andb_prop in Hs as [Hs _].
        rewrite forallb_forall in Hs. specialize (Hs i Hi). rewrite Hi' in Hs.
        cbn [orb] in Hs. apply Z.eqb_eq in Hs.
        unfold prior_at, prior_of. rewrite Hprior. cbn [fst snd]. rewrite Hs, of_Z_zero. ring.
    Qed.

    Theorem bound_holds : forall O (M : list O) column guess L,
      rows F Z (answers f) Z O (range (guesses c)) column guess M ->
      keeps_privacy M column -> loses_at_most c M column guess L ->
      frac (bound p) <= L.
    Proof.
      intros O M column guess L Hrows Hpriv Hloss.
      apply (loss_below O M column guess L (proj2 Hrows)) in Hloss.
      refine (le_trans F _ _ _ _ Hloss).
      pose proof bound_unit_pos as Hu.
      assert (Hb : match delta f with
        | None => frac (bound p) = sum (answers f) price_at
        | Some d => frac (bound p) = sum (answers f) price_at - frac d *
            sum (answers f) (fun i => sum (answers f) (fun h =>
              if near f i h then alpha i h * most i h else 0))
        end).
      { pose proof proof_holds as H. unfold check_proof in H. apply andb_prop in H as [_ H].
        fold bound_unit in H. destruct (delta f) as [[a b]|] eqn:Hdelta.
        - apply equal_frac in H as Heq. rewrite Heq. unfold frac. cbn [fst snd].
          unfold equal in H. apply andb_prop in H as [H _]. apply andb_prop in H as [_ H].
          cbn [snd] in H. apply Z.ltb_lt in H.
          assert (Hbpos : (0 < b)%Z) by nia.
          rewrite !over_mul by (try lia; try reflexivity).
          match goal with |- context [(a * ?x)%Z] => set (lost := x) end.
          assert (Hlost : of_Z lost * (over (2 ^ 62) * over bound_unit)
            = sum (answers f) (fun i => sum (answers f) (fun h =>
                if near f i h then alpha i h * most i h else 0))).
          { unfold lost, table. rewrite sum_of_Z, sum_map, <- sum_mul_r. cbn [fst snd].
            apply sum_ext. intros i _. rewrite sum_of_Z, <- sum_mul_r, <- sum_filter.
            apply sum_ext. intros h _. rewrite (of_Z_mul F). unfold alpha, most, alpha_at. ring. }
          rewrite <- Hlost, of_Z_sub, !(of_Z_mul F), sum_of_Z. unfold price_at. rewrite sum_mul_r.
          transitivity (sum (answers f) (fun i => of_Z (price p i)) * over bound_unit
              * (of_Z b * over b) * (of_Z (2 ^ 62) * over (2 ^ 62))
            - of_Z a * over b * (of_Z lost * (over (2 ^ 62) * over bound_unit))); [ring|].
          rewrite !(over_law F) by (try assumption; reflexivity). ring.
        - apply equal_frac in H. rewrite H. unfold frac, price_at. cbn [fst snd].
          rewrite sum_mul_r, <- sum_of_Z. reflexivity. }
      unfold keeps_privacy in Hpriv. destruct (delta f) as [d|]; rewrite Hb.
      - apply (weak_duality_slack F Z (answers f) (near f) E alpha alpha_nonneg
          (fun i h Hi Hh Hih => proj2 (alpha_bound i h Hi Hh Hih)) near_sym Z O
          (range (guesses c)) column guess mult); auto using mult_nonneg, condition.
        + intros i h. apply (le_mul F); [apply of_Z_nonneg, largest_is | now apply over_nonneg].
        + intros k i h Hk. apply frac_le; [exact Hu|]. now apply largest_is.
      - apply (weak_duality F Z (answers f) (near f) E alpha alpha_nonneg
          (fun i h Hi Hh Hih => proj2 (alpha_bound i h Hi Hh Hih)) near_sym Z O
          (range (guesses c)) column guess mult); auto using mult_nonneg, condition.
    Qed.
  End Consumer.
End Soundness.

(** ** The theorem

    If [check f = true], then for numbers of every kind (the reals among them) with E = exp(ε·length):
    the answers are those of the question; the mechanism of the file is private; distances are those
    of the answer graph; the loss is at most the stated one; and no private mechanism with the same guesses, with whatever outputs, has a
    loss below the stated bound. *)
Theorem judge_sound : forall f, check f = true ->
  forall (F : numbers) (E : Z -> Z -> F),
  (forall i h, In i (answers f) -> In h (answers f) -> near f i h = true ->
     is_exp (E i h) (level_of f i h)) ->
  (forall q r, asked f = inl (q, r) -> map (label f) (answers f) = answers_of q r) /\
  (forall i, In i (answers f) ->
     sum (own_outputs f) (fun o => own_column f F o i) = one) /\
  keeps_privacy f F E (own_outputs f) (own_column f F) /\
  (forall c, whose f = Some c -> loss c = Distance -> forall k i,
     In k (answers f) -> In i (answers f) -> is_distance f k i (distance f k i)) /\
  (forall c, whose f = Some c ->
     loses_at_most f F c (own_outputs f) (own_column f F) (guess_of c) (frac F (expected_loss c))) /\
  (forall c p, whose f = Some c -> proof f = Some p ->
     forall O (M : list O) column guess L,
     rows F Z (answers f) Z O (range (guesses c)) column guess M ->
     keeps_privacy f F E M column -> loses_at_most f F c M column guess L ->
     le (frac F (bound p)) L).
Proof.
  intros f H F E HE. unfold check in H.
  apply andb_prop in H as [H Hwhose]. apply andb_prop in H as [H Hpriv].
  apply andb_prop in H as [H Hrows]. apply andb_prop in H as [H Hratios].
  apply andb_prop in H as [H Hlabels]. apply andb_prop in H as [_ Hbits].
  apply Z.leb_le in Hbits.
  split; [|split; [|split; [|split; [|split]]]].
  - intros q r Hq. unfold check_labels in Hlabels. rewrite Hq in Hlabels.
    apply andb_prop in Hlabels as [Hn Hall]. apply andb_prop in Hn as [_ Hn]. apply Z.eqb_eq in Hn.
    rewrite forallb_forall in Hall.
    assert (Hlen : length (answers f) = length (answers_of q r)).
    { unfold answers, range. rewrite Hn, Nat2Z.id. apply count_from_length. }
    clear - Hall Hlen. revert Hall Hlen. generalize (answers_of q r). generalize (answers f).
    induction l as [|i l IH]; intros [|x r'] Hall Hlen; try discriminate; [reflexivity|].
    simpl. f_equal.
    + specialize (Hall (i, x) (or_introl eq_refl)). cbn [fst snd] in Hall. unfold same in Hall.
      destruct (list_eq_dec Z.eq_dec (label f i) x); [assumption | discriminate].
    + apply IH; [|simpl in Hlen; lia]. intros y Hy. apply Hall. right. exact Hy.
  - intros. now apply own_rows.
  - now apply own_private.
  - intros c Hc Hd. rewrite Hc in Hwhose. apply andb_prop in Hwhose as [Hcons _].
    unfold check_consumer in Hcons. do 3 apply andb_prop in Hcons as [Hcons _].
    rewrite Hd in Hcons. apply andb_prop in Hcons as [_ Hcons]. apply andb_prop in Hcons as [_ Hcons].
    now apply distances_hold.
  - intros c Hc. rewrite Hc in Hwhose. apply andb_prop in Hwhose as [Hcons _]. now apply own_loss.
  - intros c p Hc Hp. rewrite Hc, Hp in Hwhose. apply andb_prop in Hwhose as [Hcons Hproof].
    intros. eapply bound_holds; eassumption.
Qed.
