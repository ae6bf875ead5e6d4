(** * Values that are drawn together (_tuples_ weights)

    Weights are made of levels, w_0 = 2^bits and w_(g+1) = ⌈w_g·q/p⌉. A _bracket_ is a quantile with
    both ends of an interval; _quantiles_ are several points in order. If one person moves the levels
    of every tuple by at most M steps in all, and (p/q)^(2M) is at most e^ε, the draw is private. *)

From Coq Require Import ZArith List Ring Lia Bool.
From Tightrope Require Import Numbers Exponential Questions Lattice Layers Tables Scores.
Import ListNotations.
Open Scope Z_scope.

(** ** The draws *)
Section Draws.
  Variable F : numbers.
  Add Ring ring_of_draws : (ring_laws F).
  Variables p q M : Z.
  Hypothesis Hpq : 0 < q <= p.
  Hypothesis HM : 0 <= M.
  Variable E : F.
  Hypothesis HE : le (of_Z (p ^ (2 * M))) (mul E (of_Z (q ^ (2 * M)))).

  (** No weight falls by more than (p/q)^M, none rises by more. *)
  Definition moved_by (w w' : Z) : Prop := 0 <= w /\ 0 <= w' /\ w * q ^ M <= w' * p ^ M /\ w' * q ^ M <= w * p ^ M.

  Lemma powers_pos : 0 < q ^ M /\ 0 < p ^ M.
  Proof. split; apply Z.pow_pos_nonneg; lia. Qed.
  Lemma powers_twice : p ^ (2 * M) = p ^ M * p ^ M /\ q ^ (2 * M) = q ^ M * q ^ M.
  Proof. replace (2 * M) with (M + M) by lia. rewrite !Z.pow_add_r by lia. now split. Qed.

  Lemma moved_back : forall w w', moved_by w w' -> moved_by w' w.
  Proof. unfold moved_by. tauto. Qed.

  Lemma moved_total : forall A (L : list A) w w', (forall a, In a L -> moved_by (w a) (w' a)) ->
    moved_by (total L w) (total L w').
  Proof.
    intros A L w w'. unfold moved_by. induction L as [|a L IH]; intros H; [unfold total; simpl; lia|].
    rewrite !total_cons. specialize (IH (fun b Hb => H b (or_intror Hb))). specialize (H a (or_introl eq_refl)). nia.
  Qed.

  Lemma fraction_le : forall a b c d, 0 < b -> 0 < d -> 0 <= c -> a * d * q ^ (2 * M) <= c * b * p ^ (2 * M) ->
    le (mul (of_Z a) (over b)) (mul E (mul (of_Z c) (over d))).
  Proof.
    intros a b c d Hb Hd Hc H. destruct powers_twice as [_ Htwice]. destruct powers_pos as [Hq _].
    assert (HQ : 0 < q ^ (2 * M)) by (rewrite Htwice; nia).
    apply (le_cancel F b); [exact Hb|]. apply (le_cancel F d); [exact Hd|]. apply (le_cancel F (q ^ (2 * M))); [exact HQ|].
    replace (mul (of_Z (q ^ (2 * M))) (mul (of_Z d) (mul (of_Z b) (mul (of_Z a) (over b)))))
      with (mul (mul (of_Z b) (over b)) (of_Z (a * d * q ^ (2 * M))) : F) by (rewrite !(of_Z_mul F); ring).
    replace (mul (of_Z (q ^ (2 * M))) (mul (of_Z d) (mul (of_Z b) (mul E (mul (of_Z c) (over d))))))
      with (mul (mul (of_Z d) (over d)) (mul (of_Z (c * b)) (mul E (of_Z (q ^ (2 * M))))) : F) by (rewrite !(of_Z_mul F); ring).
    rewrite !(over_law F) by assumption.
    replace (mul one (of_Z (a * d * q ^ (2 * M)))) with (of_Z (a * d * q ^ (2 * M)) : F) by ring.
    replace (mul one (mul (of_Z (c * b)) (mul E (of_Z (q ^ (2 * M)))))) with (mul (of_Z (c * b)) (mul E (of_Z (q ^ (2 * M)))) : F) by ring.
    apply (le_trans F _ (mul (of_Z (c * b)) (of_Z (p ^ (2 * M))))).
    - rewrite <- (of_Z_mul F). now apply (of_Z_le F).
    - apply mul_le_l; [apply of_Z_nonneg; nia | exact HE].
  Qed.

  (** "In proportion to weights a chance falls by at most (p/q)^(2M)" (the exponential mechanism). *)
  Theorem proportional_private : forall A (L : list A) w w', (forall a, In a L -> moved_by (w a) (w' a)) ->
    0 < total L w -> 0 < total L w' -> forall a, In a L ->
    le (mul (of_Z (w a)) (over (total L w))) (mul E (mul (of_Z (w' a)) (over (total L w')))).
  Proof.
    intros A L w w' H Hw Hw' a Ha. destruct (moved_total A L w w' H) as [_ [_ [_ Hsum]]].
    destruct (H a Ha) as [H0 [H0' [Hone _]]]. destruct powers_twice as [Hp2 Hq2]. destruct powers_pos as [Hq Hp].
    apply fraction_le; auto. rewrite Hp2, Hq2.
    replace (w a * total L w' * (q ^ M * q ^ M)) with ((w a * q ^ M) * (total L w' * q ^ M)) by ring.
    replace (w' a * total L w * (p ^ M * p ^ M)) with ((w' a * p ^ M) * (total L w * p ^ M)) by ring.
    apply Z.mul_le_mono_nonneg; auto; nia.
  Qed.

  (** *** Brackets: permute-and-flip with the sums W_v, then the ends in proportion *)
  Variable values : Z.
  Hypothesis Hvalues : 0 < values.
  Definition every_value : list Z := range values.
  Definition ends : list (Z * Z) := list_prod every_value every_value.
  (** The weight of value v with the ends l and u is w v (l, u). *)
  Definition weight_of (w : Z -> Z * Z -> Z) (v : Z) : Z := total ends (w v).
  Definition heaviest (w : Z -> Z * Z -> Z) : Z := best_of (weight_of w) every_value.
  Definition accepts (w : Z -> Z * Z -> Z) (v : Z) : F := mul (of_Z (weight_of w v)) (over (heaviest w)).
  Definition chance (w : Z -> Z * Z -> Z) (v : Z) (lu : Z * Z) : F :=
    mul (drawn F (accepts w) (Z.to_nat values) every_value v) (mul (of_Z (w v lu)) (over (weight_of w v))).

  Definition positive_weights (w : Z -> Z * Z -> Z) : Prop := forall v lu, 0 < w v lu.

  Lemma values_nodup : NoDup every_value.
  Proof.
    unfold every_value, range. generalize 0. induction (Z.to_nat values) as [|n IH]; intros i; constructor; [|apply IH].
    rewrite in_count_from. lia.
  Qed.
  Lemma values_length : length every_value = S (pred (Z.to_nat values)).
  Proof. unfold every_value, range. rewrite count_from_length. lia. Qed.
  Lemma zero_value : In 0 every_value.
  Proof. apply in_range. lia. Qed.

  Lemma total_pos : forall A (L : list A) w, L <> [] -> (forall a, 0 < w a) -> 0 < total L w.
  Proof.
    intros A L w HL Hw. destruct L as [|a L]; [contradiction|]. rewrite total_cons. specialize (Hw a) as Ha.
    assert (0 <= total L w); [|lia]. clear - Hw. induction L as [|b L IH]; [unfold total; simpl; lia|].
    rewrite total_cons. specialize (Hw b). lia.
  Qed.

  Lemma weight_pos : forall w v, positive_weights w -> 0 < weight_of w v.
  Proof.
    intros w v Hw. apply total_pos; [|intros; apply Hw]. unfold ends. pose proof zero_value as H0.
    destruct every_value; [destruct H0 | discriminate].
  Qed.

  Lemma heaviest_is : forall w v, In v every_value -> weight_of w v <= heaviest w.
  Proof. intros. now apply best_most. Qed.
  Lemma heaviest_pos : forall w, positive_weights w -> 0 < heaviest w.
  Proof. intros w Hw. pose proof (heaviest_is w 0 zero_value). pose proof (weight_pos w 0 Hw). lia. Qed.

  Lemma accepts_chance : forall w, positive_weights w -> chances F (accepts w) every_value.
  Proof.
    intros w Hw v Hv. pose proof (weight_pos w v Hw). pose proof (heaviest_pos w Hw) as Hpos. unfold accepts. split.
    - apply (le_mul F); [apply of_Z_nonneg; lia | now apply over_nonneg].
    - rewrite <- (over_law F _ Hpos).
      replace (mul (of_Z (weight_of w v)) (over (heaviest w))) with (mul (over (heaviest w)) (of_Z (weight_of w v)) : F) by ring.
      replace (mul (of_Z (heaviest w)) (over (heaviest w))) with (mul (over (heaviest w)) (of_Z (heaviest w)) : F) by ring.
      apply mul_le_l; [now apply over_nonneg | apply (of_Z_le F); now apply heaviest_is].
  Qed.

  (** "There always is an output." *)
  Theorem bracket_rows : forall w, positive_weights w ->
    sum every_value (fun v => sum ends (chance w v)) = one.
  Proof.
    intros w Hw. rewrite (sum_ext F _ _ _ (drawn F (accepts w) (Z.to_nat values) every_value)).
    - rewrite <- (count_from_length (Z.to_nat values) 0). change (count_from (Z.to_nat values) 0) with every_value.
      rewrite values_length. destruct (best_is_one (weight_of w) every_value zero_value) as [m [Hm Hbest]].
      apply (drawn_total F _ _ _ m); [apply values_nodup | exact Hm | | apply values_length].
      unfold accepts. fold (heaviest w) in Hbest. rewrite Hbest. apply (over_law F). now apply heaviest_pos.
    - intros v Hv. unfold chance. rewrite sum_mul. pose proof (weight_pos w v Hw) as Hpos.
      rewrite (sum_ext F _ ends _ (fun lu => mul (over (weight_of w v)) (of_Z (w v lu)))) by (intros; ring).
      rewrite sum_mul, <- sum_of_Z. cbv beta. change (total ends (w v)) with (weight_of w v).
      pose proof (over_law F _ Hpos) as Hone.
      transitivity (mul (drawn F (accepts w) (Z.to_nat values) every_value v) (mul (of_Z (weight_of w v)) (over (weight_of w v)))); [ring|].
      rewrite Hone. ring.
  Qed.

  (** A triple is drawn if its value is reached, with its weight over the largest W. *)
  Lemma chance_is : forall w v lu, positive_weights w -> In v every_value ->
    chance w v lu = mul (mul (of_Z (w v lu)) (over (heaviest w)))
      (reached F (accepts w) (pred (Z.to_nat values)) (without v every_value)).
  Proof.
    intros w v lu Hw Hv. unfold chance. pose proof (weight_pos w v Hw) as Hpos.
    assert (Hn : Z.to_nat values = S (pred (Z.to_nat values))) by lia. rewrite Hn at 1.
    rewrite drawn_reached by auto using values_nodup, values_length. unfold accepts at 1.
    set (G := reached _ _ _ _).
    transitivity (mul (mul (of_Z (weight_of w v)) (over (weight_of w v))) (mul (mul (of_Z (w v lu)) (over (heaviest w))) G)); [ring|].
    rewrite (over_law F) by exact Hpos. ring.
  Qed.

  Lemma heaviest_moved : forall w w', positive_weights w -> (forall v lu, In v every_value -> moved_by (w v lu) (w' v lu)) ->
    heaviest w' * q ^ M <= heaviest w * p ^ M.
  Proof.
    intros w w' Hw H. destruct (best_is_one (weight_of w') every_value zero_value) as [m [Hm Hbest]].
    unfold heaviest at 1. rewrite <- Hbest. pose proof (heaviest_is w m Hm).
    destruct (moved_total _ ends (w m) (w' m) (fun lu _ => H m lu Hm)) as [_ [_ [_ Hsum]]].
    fold (weight_of w m) (weight_of w' m) in Hsum. destruct powers_pos. nia.
  Qed.

  (** "A bracket is private": P(l, v, u given one table) <= e^ε·P(l, v, u given a neighbouring one). *)
  Theorem bracket_private : forall w w', positive_weights w -> positive_weights w' ->
    (forall v lu, In v every_value -> moved_by (w v lu) (w' v lu)) ->
    forall v lu, In v every_value -> le (chance w v lu) (mul E (chance w' v lu)).
  Proof.
    intros w w' Hw Hw' H v lu Hv. rewrite !chance_is by assumption. destruct powers_pos as [Hq Hp].
    destruct powers_twice as [Hp2 Hq2].
    pose proof (heaviest_pos w Hw) as HB. pose proof (heaviest_pos w' Hw') as HB'.
    set (B := heaviest w) in *. set (B' := heaviest w') in *.
    set (n := pred (Z.to_nat values)). set (others := without v every_value).
    (* The others are accepted at most c = (p/q)^M·B/B' times as often. *)
    set (c := mul (mul (of_Z (p ^ M)) (over (q ^ M))) (mul (of_Z B) (over B')) : F).
    assert (Hc : le one c).
    { apply (le_cancel F (q ^ M)); [exact Hq|]. apply (le_cancel F B'); [exact HB'|]. unfold c.
      replace (mul (of_Z B') (mul (of_Z (q ^ M)) one)) with (of_Z (B' * q ^ M) : F) by (rewrite (of_Z_mul F); ring).
      replace (mul (of_Z B') (mul (of_Z (q ^ M)) (mul (mul (of_Z (p ^ M)) (over (q ^ M))) (mul (of_Z B) (over B')))))
        with (mul (mul (of_Z B') (over B')) (mul (mul (of_Z (q ^ M)) (over (q ^ M))) (of_Z (B * p ^ M))) : F)
        by (rewrite (of_Z_mul F); ring).
      rewrite !(over_law F) by assumption. replace (mul one (mul one (of_Z (B * p ^ M)))) with (of_Z (B * p ^ M) : F) by ring.
      apply (of_Z_le F). now apply heaviest_moved. }
    assert (Hothers : forall s, In s others -> le (accepts w' s) (mul c (accepts w s))).
    { intros s Hs. apply in_without in Hs as [Hs _]. unfold accepts. fold B B'.
      destruct (moved_total _ ends (w s) (w' s) (fun e _ => H s e Hs)) as [_ [_ [_ Hsum]]].
      fold (weight_of w s) (weight_of w' s) in Hsum.
      apply (le_cancel F (q ^ M)); [exact Hq|]. unfold c.
      replace (mul (of_Z (q ^ M)) (mul (of_Z (weight_of w' s)) (over B')))
        with (mul (over B') (of_Z (weight_of w' s * q ^ M)) : F) by (rewrite (of_Z_mul F); ring).
      replace (mul (of_Z (q ^ M)) (mul (mul (mul (of_Z (p ^ M)) (over (q ^ M))) (mul (of_Z B) (over B'))) (mul (of_Z (weight_of w s)) (over B))))
        with (mul (over B') (mul (mul (mul (of_Z B) (over B)) (mul (of_Z (q ^ M)) (over (q ^ M)))) (of_Z (weight_of w s * p ^ M))) : F)
        by (rewrite (of_Z_mul F); ring).
      rewrite !(over_law F) by assumption.
      replace (mul (mul one one) (of_Z (weight_of w s * p ^ M))) with (of_Z (weight_of w s * p ^ M) : F) by ring.
      apply mul_le_l; [now apply over_nonneg | now apply (of_Z_le F)]. }
    pose proof (reached_ratio F (accepts w) (accepts w') c n others
      (chances_without F _ _ _ (accepts_chance w Hw)) (chances_without F _ _ _ (accepts_chance w' Hw'))
      (nodup_without v _ values_nodup)
      ltac:(unfold others, n; pose proof (without_length v _ values_nodup Hv); rewrite values_length in *; lia) Hc Hothers) as Hreached.
    set (G := reached F (accepts w) n others) in *. set (G' := reached F (accepts w') n others) in *.
    assert (HG' : le zero G') by (apply reached_nonneg, chances_without, accepts_chance; assumption).
    destruct (H v lu Hv) as [H0 [H0' [Hone _]]].
    apply (le_trans F _ (mul (mul (of_Z (w v lu)) (over B)) (mul c G'))).
    { apply mul_le_l; [|exact Hreached]. apply (le_mul F); [now apply of_Z_nonneg | now apply over_nonneg]. }
    replace (mul E (mul (mul (of_Z (w' v lu)) (over B')) G')) with (mul G' (mul E (mul (of_Z (w' v lu)) (over B'))) : F) by ring.
    replace (mul (mul (of_Z (w v lu)) (over B)) (mul c G'))
      with (mul G' (mul (mul (of_Z B) (over B)) (mul (over (q ^ M)) (mul (of_Z (w v lu * p ^ M)) (over B')))) : F)
      by (unfold c; rewrite (of_Z_mul F); ring).
    apply mul_le_l; [exact HG'|]. rewrite (over_law F) by exact HB.
    apply (le_cancel F (q ^ M)); [exact Hq|].
    replace (mul (of_Z (q ^ M)) (mul one (mul (over (q ^ M)) (mul (of_Z (w v lu * p ^ M)) (over B')))))
      with (mul (mul (of_Z (q ^ M)) (over (q ^ M))) (mul (of_Z (w v lu * p ^ M)) (over B')) : F) by ring.
    rewrite (over_law F) by exact Hq.
    replace (mul one (mul (of_Z (w v lu * p ^ M)) (over B'))) with (mul (of_Z (w v lu * p ^ M)) (over B') : F) by ring.
    replace (mul (of_Z (q ^ M)) (mul E (mul (of_Z (w' v lu)) (over B'))))
      with (mul E (mul (of_Z (w' v lu * q ^ M)) (over B')) : F) by (rewrite (of_Z_mul F); ring).
    apply fraction_le; auto; [nia|]. rewrite Hp2, Hq2.
    replace (w v lu * p ^ M * B' * (q ^ M * q ^ M)) with ((w v lu * q ^ M) * (p ^ M * B' * q ^ M)) by ring.
    replace (w' v lu * q ^ M * B' * (p ^ M * p ^ M)) with ((w' v lu * p ^ M) * (p ^ M * B' * q ^ M)) by ring.
    apply Z.mul_le_mono_nonneg_r; [nia | exact Hone].
  Qed.
End Draws.

(** ** Levels *)
Section Levels.
  Variables bits p q : Z.
  Hypothesis Hbits : 0 <= bits.
  Hypothesis Hpq : 0 < q <= p.
  Definition level_of (g : Z) : Z := level_at p q (2 ^ bits) (Z.to_nat g).

  Lemma level_of_pos : forall g, 0 < level_of g.
  Proof.
    intros g. unfold level_of. assert (H : forall n w, 0 < w -> 0 < level_at p q w n).
    { induction n as [|n IH]; intros w Hw; [exact Hw|]. cbn [level_at]. apply IH.
      destruct (next_level p q Hpq w ltac:(lia)) as [_ Hnext]. nia. }
    apply H. apply Z.pow_pos_nonneg; lia.
  Qed.

  (** A level that is at most t steps further on is at most (p/q)^t smaller. *)
  Lemma level_of_falls : forall g h t, 0 <= g -> 0 <= h -> 0 <= t -> h <= g + t ->
    level_of g * q ^ t <= level_of h * p ^ t.
  Proof.
    intros g h t Hg Hh Ht Hle. unfold level_of.
    assert (Hwhole : 0 <= 2 ^ bits) by (apply Z.pow_nonneg; lia).
    destruct (level_falls p q Hpq (Z.to_nat t) (2 ^ bits) (Z.to_nat g) Hwhole) as [_ Hfall].
    rewrite Z2Nat.id in Hfall by lia.
    destruct (level_falls p q Hpq (Z.to_nat (g + t - h)) (2 ^ bits) (Z.to_nat h) Hwhole) as [[_ Hrise] _].
    replace (Z.to_nat h + Z.to_nat (g + t - h))%nat with (Z.to_nat g + Z.to_nat t)%nat in Hrise by lia.
    assert (0 <= p ^ t) by (apply Z.pow_nonneg; lia). nia.
  Qed.

  (** The product of the levels of a list. *)
  Definition product_of {A} (d : A -> Z) (cells : list A) : Z := fold_right (fun j rest => level_of (d j) * rest) 1 cells.

  Lemma product_pos : forall A (d : A -> Z) cells, 0 < product_of d cells.
  Proof.
    intros A d. induction cells as [|j cells IH]; cbn [product_of fold_right]; [lia|].
    fold (product_of d cells). pose proof (level_of_pos (d j)). nia.
  Qed.

  Lemma product_falls : forall A (d d' : A -> Z) cells, (forall j, 0 <= d j /\ 0 <= d' j) ->
    let t := total cells (fun j => Z.abs (d j - d' j)) in
    0 <= t /\ product_of d cells * q ^ t <= product_of d' cells * p ^ t.
  Proof.
    intros A d d' cells Hd t. subst t. induction cells as [|j cells [IH1 IH2]].
    - unfold total. cbn. lia.
    - rewrite total_cons. cbn [product_of fold_right]. fold (product_of d cells) (product_of d' cells).
      set (s := total cells _) in *. set (a := Z.abs (d j - d' j)).
      split; [unfold a; lia|]. rewrite !Z.pow_add_r by (unfold a; lia).
      destruct (Hd j) as [H1 H2].
      pose proof (level_of_falls (d j) (d' j) a H1 H2 ltac:(unfold a; lia) ltac:(unfold a; lia)) as Hone.
      pose proof (level_of_pos (d j)). pose proof (level_of_pos (d' j)).
      pose proof (product_pos A d cells). pose proof (product_pos A d' cells).
      assert (0 <= q ^ a) by (apply Z.pow_nonneg; lia). assert (0 <= q ^ s) by (apply Z.pow_nonneg; lia).
      replace (level_of (d j) * product_of d cells * (q ^ a * q ^ s)) with ((level_of (d j) * q ^ a) * (product_of d cells * q ^ s)) by ring.
      replace (level_of (d' j) * product_of d' cells * (p ^ a * p ^ s)) with ((level_of (d' j) * p ^ a) * (product_of d' cells * p ^ s)) by ring.
      apply Z.mul_le_mono_nonneg; auto; nia.
  Qed.

  (** Fewer steps than M are as good as M. *)
  Lemma more_steps : forall w w' t M, 0 <= t <= M -> 0 <= w' -> w * q ^ t <= w' * p ^ t -> w * q ^ M <= w' * p ^ M.
  Proof.
    intros w w' t M Ht Hw H. replace M with (t + (M - t)) by lia. rewrite !Z.pow_add_r by lia.
    assert (H1 : q ^ (M - t) <= p ^ (M - t)) by (apply Z.pow_le_mono_l; lia).
    assert (0 <= q ^ (M - t)) by (apply Z.pow_nonneg; lia). assert (0 <= p ^ t) by (apply Z.pow_nonneg; lia).
    apply Z.le_trans with (w' * p ^ t * q ^ (M - t)); [nia|].
    replace (w' * (p ^ t * p ^ (M - t))) with (w' * p ^ t * p ^ (M - t)) by ring. apply Z.mul_le_mono_nonneg_l; nia.
  Qed.
End Levels.

(** ** How far one person moves the levels

    Each person has at most k rows. [bracket(t/D,c,A,S)]: with L rows below a value, U not above it and n
    in all, the gap of value v from the rank (t·n + s)/D is max(0, D·L - t·n - s, t·n + s - D·U); below
    the least value and above the largest one there is always room. *)
Inductive joint_question :=
| Bracket (t D c A S k : Z)
| Quantiles (tops : list Z) (D c k : Z).      (* of ranks t_1/D < … < t_m/D *)

Section Bracket.
  Variables t D c A S k : Z.
  Definition gap_from (table : list (list Z)) (s v : Z) : Z :=
    Z.max 0 (Z.max (if v =? 0 then 0 else over_table (below_it t D v) table - s)
      (if v =? c - 1 then 0 else s - over_table (not_above t D v) table)).
  Definition bracket_gap (table : list (list Z)) (v : Z) (lu : Z * Z) : Z :=
    Z.max (gap_from table 0 v)
      (Z.max 0 (Z.max (gap_from table (- A) (fst lu) - S) (gap_from table A (snd lu) - S))).
  Definition end_factor (lu : Z * Z) : Z := (if fst lu =? 0 then c else 1) * (if snd lu =? c - 1 then c else 1).

  Definition bracket_steps (r : relation) : Z := k * match r with AddRemove => Z.max t (D - t) | _ => D end.

  (** "A largest one of distances moves no further than they do." *)
  Lemma bracket_moves : forall r n table table', 0 < t < D -> 0 <= k ->
    allowed (Quantile t D c k) table -> allowed (Quantile t D c k) table' -> neighbouring r n table table' ->
    forall v lu, Z.abs (bracket_gap table v lu - bracket_gap table' v lu) <= bracket_steps r.
  Proof.
    intros r n table table' Ht Hk Hin Hin' Hn v lu.
    assert (Hmoves : forall g, (forall x, - t <= g x <= D - t) -> Z.abs (over_table g table - over_table g table') <= bracket_steps r).
    { intros g Hg. pose proof (person_moves (Quantile t D c k) r n table table' g (- t) (D - t) Hin Hin' Hn Hg ltac:(lia)) as H.
      cbn [rows_of] in H. specialize (H Hk). unfold bracket_steps. replace (- - t) with t in H by lia.
      replace (D - t - - t) with D in H by lia. exact H. }
    assert (Hgap : forall s w, Z.abs (gap_from table s w - gap_from table' s w) <= bracket_steps r).
    { intros s w. pose proof (Hmoves (below_it t D w) ltac:(intros x; unfold below_it; destruct (_ <? _); lia)).
      pose proof (Hmoves (not_above t D w) ltac:(intros x; unfold not_above; destruct (_ <=? _); lia)).
      assert (Hsteps : 0 <= bracket_steps r) by lia.
      assert (Hmax : forall a a' b b' m, Z.abs (a - a') <= m -> Z.abs (b - b') <= m ->
        Z.abs (Z.max a b - Z.max a' b') <= m) by (clear; intros; lia).
      unfold gap_from. apply Hmax; [rewrite Z.sub_diag; exact Hsteps|].
      apply Hmax; [destruct (w =? 0) | destruct (w =? c - 1)]; lia. }
    assert (Hmax : forall a a' b b' m, Z.abs (a - a') <= m -> Z.abs (b - b') <= m ->
      Z.abs (Z.max a b - Z.max a' b') <= m) by (clear; intros; lia).
    assert (Hsteps : 0 <= bracket_steps r) by (pose proof (Hgap 0 0); lia).
    unfold bracket_gap. apply Hmax; [apply Hgap|]. apply Hmax; [rewrite Z.sub_diag; exact Hsteps|].
    apply Hmax.
    - pose proof (Hgap (- A) (fst lu)). lia.
    - pose proof (Hgap A (snd lu)). lia.
  Qed.
End Bracket.

(** [quantiles(t_1/D,…,t_m/D,c,R)]: rows have places on a grid, drawn without looking at anybody else,
    and so have the points p_1 <= … <= p_m. A row is in cell j if j of the points are below it. With
    T_j = t_(j+1) - t_j, from t_0 = 0 to t_(m+1) = D, the level of cell j is |D·(rows in it) - T_j·n|. *)
Section Quantiles.
  Variables D k : Z.
  Variable widths : list Z.                   (* T_0 … T_m *)
  Definition cells : list Z := range (Z.of_nat (length widths)).
  Definition width_at (j : Z) : Z := nth (Z.to_nat j) widths 0.
  Hypothesis widths_sum : total cells width_at = D.
  Variable least : Z.
  Hypothesis widths_least : forall j, In j cells -> least <= width_at j.
  Hypothesis least_pos : 0 < least.
  Variable points : list Z.
  Hypothesis points_count : length widths = S (length points).

  Definition cell_of (row : Z) : Z := Z.of_nat (length (filter (fun p => p <? row) points)).
  Definition in_cell (j row : Z) : Z := (if cell_of row =? j then D else 0) - width_at j.
  Definition off_by (table : list (list Z)) (j : Z) : Z := Z.abs (over_table (in_cell j) table).
  Definition quantile_moves (r : relation) : Z := k * match r with AddRemove => 2 * (D - least) | _ => 2 * D end.

  Lemma cell_known : forall row, In (cell_of row) cells.
  Proof.
    intros row. unfold cells. apply in_range. unfold cell_of. rewrite points_count.
    assert (H : forall (f : Z -> bool) l, (length (filter f l) <= length l)%nat).
    { intros f. induction l as [|x l IH]; [reflexivity|]. cbn [filter]. destruct (f x); cbn [length]; lia. }
    specialize (H (fun p => p <? row) points). lia.
  Qed.

  Lemma total_at : forall n i a h, i <= a < i + Z.of_nat n ->
    total (count_from n i) (fun j => if a =? j then h j else 0) = h a.
  Proof.
    induction n as [|n IH]; intros i a h Ha; [lia|]. cbn [count_from]. rewrite total_cons.
    destruct (Z.eqb_spec a i) as [->|Hne].
    - rewrite total_zero; [lia|]. intros j Hj. apply in_count_from in Hj. destruct (Z.eqb_spec i j); [lia | reflexivity].
    - rewrite IH by lia. lia.
  Qed.
  Lemma cells_at : forall a h, In a cells -> total cells (fun j => if a =? j then h j else 0) = h a.
  Proof. intros a h Ha. unfold cells, range in *. apply in_count_from in Ha. now apply total_at. Qed.

  (** With a sign for each cell. *)
  Definition signed (s : Z -> Z) (row : Z) : Z := total cells (fun j => s j * in_cell j row).
  Definition sign_sum (s : Z -> Z) : Z := total cells (fun j => s j * width_at j).

  Lemma over_table_zero : forall table, over_table (fun _ => 0) table = 0.
  Proof. intros. unfold over_table. induction (concat table) as [|x l IH]; [reflexivity|]. cbn [added_up fold_right]. exact IH. Qed.
  Lemma over_table_add : forall g h a table, over_table (fun row => a * g row + h row) table = a * over_table g table + over_table h table.
  Proof.
    intros. unfold over_table. induction (concat table) as [|x l IH]; [cbn; lia|]. cbn [added_up fold_right].
    fold (added_up (fun row => a * g row + h row) l) (added_up g l) (added_up h l). rewrite IH. lia.
  Qed.
  Lemma over_table_ext : forall g h table, (forall row, g row = h row) -> over_table g table = over_table h table.
  Proof.
    intros g h table H. unfold over_table. induction (concat table) as [|x l IH]; [reflexivity|]. cbn [added_up fold_right].
    fold (added_up g l) (added_up h l). now rewrite H, IH.
  Qed.
  Lemma over_table_total : forall (L : list Z) (s : Z -> Z) (g : Z -> Z -> Z) table,
    over_table (fun row => total L (fun j => s j * g j row)) table = total L (fun j => s j * over_table (g j) table).
  Proof.
    induction L as [|j L IH]; intros s g table; [apply over_table_zero|].
    rewrite total_cons, <- IH, <- over_table_add. apply over_table_ext. intros row. now rewrite total_cons.
  Qed.

  Lemma total_between : forall A (L : list A) g h, (forall a, In a L -> g a <= h a) -> total L g <= total L h.
  Proof.
    induction L as [|a L IH]; intros g h H; [unfold total; simpl; lia|]. rewrite !total_cons.
    specialize (H a (or_introl eq_refl)) as Ha. specialize (IH g h (fun b Hb => H b (or_intror Hb))). lia.
  Qed.

  Definition is_sign (s : Z -> Z) : Prop := forall j, s j = 1 \/ s j = -1.

  Lemma signed_is : forall s row, signed s row = s (cell_of row) * D - sign_sum s.
  Proof.
    intros s row. unfold signed, sign_sum, in_cell.
    rewrite (total_ext _ _ _ (fun j => (if cell_of row =? j then s j * D else 0) - s j * width_at j))
      by (intros j _; destruct (_ =? _); lia).
    rewrite total_sub, (cells_at (cell_of row) (fun j => s j * D)) by apply cell_known. reflexivity.
  Qed.
  Lemma sign_sum_bound : forall s, is_sign s -> - D <= sign_sum s <= D.
  Proof.
    intros s Hs. unfold sign_sum. rewrite <- widths_sum. split.
    - assert (H : total cells (fun j => -1 * width_at j) <= total cells (fun j => s j * width_at j)).
      { apply total_between. intros j Hj. pose proof (widths_least j Hj). destruct (Hs j) as [-> | ->]; lia. }
      rewrite total_mul in H. lia.
    - apply total_between. intros j Hj. pose proof (widths_least j Hj). destruct (Hs j) as [-> | ->]; lia.
  Qed.
  Lemma signed_bound : forall s row, is_sign s -> - (2 * (D - least)) <= signed s row <= 2 * (D - least).
  Proof.
    intros s row Hs. assert (H : Z.abs (signed s row) <= 2 * (D - least)); [|lia].
    pose proof (cell_known row) as Hcell. pose proof (widths_least _ Hcell) as Hleast. set (a := cell_of row) in *.
    (* All but the sign of the row's own cell: 2·(D - T_a). *)
    assert (Hrest : - (D - width_at a) <= sign_sum s - s a * width_at a <= D - width_at a).
    { pose proof (cells_at a (fun j => s j * width_at j) Hcell) as Hmine. pose proof (cells_at a width_at Hcell) as Hwide.
      cbv beta in Hmine.
      assert (Hup : total cells (fun j => s j * width_at j - (if a =? j then s j * width_at j else 0))
        <= total cells (fun j => width_at j - (if a =? j then width_at j else 0))).
      { apply total_between. intros j Hj. pose proof (widths_least j Hj). destruct (a =? j); destruct (Hs j) as [-> | ->]; lia. }
      assert (Hlow : total cells (fun j => -1 * (width_at j - (if a =? j then width_at j else 0)))
        <= total cells (fun j => s j * width_at j - (if a =? j then s j * width_at j else 0))).
      { apply total_between. intros j Hj. pose proof (widths_least j Hj). destruct (a =? j); destruct (Hs j) as [-> | ->]; lia. }
      rewrite total_mul in Hlow. rewrite !total_sub in Hup, Hlow. rewrite Hmine, Hwide, widths_sum in Hup, Hlow.
      fold (sign_sum s) in Hup, Hlow. lia. }
    rewrite signed_is. fold a. destruct (Hs a) as [Ha|Ha]; rewrite Ha in *; lia.
  Qed.

  (** "One person moves the levels of all cells by at most 2k·(D - min T) steps in all, or 2k·D." *)
  Theorem quantiles_move : forall q r n table table', rows_of q = k -> 0 <= k ->
    allowed q table -> allowed q table' -> neighbouring r n table table' ->
    total cells (fun j => Z.abs (off_by table j - off_by table' j)) <= quantile_moves r.
  Proof.
    intros q r n table table' Hq Hk Hin Hin' Hn.
    set (s := fun j => if over_table (in_cell j) table' <=? over_table (in_cell j) table then 1 else -1).
    assert (Hs : is_sign s) by (intros j; unfold s; destruct (_ <=? _); auto).
    apply Z.le_trans with (over_table (signed s) table - over_table (signed s) table').
    - unfold signed. rewrite !over_table_total, <- total_sub. apply total_between. intros j _. unfold off_by, s.
      destruct (Z.leb_spec (over_table (in_cell j) table') (over_table (in_cell j) table)); lia.
    - apply Z.le_trans with (Z.abs (over_table (signed s) table - over_table (signed s) table')); [lia|].
      pose proof (sign_sum_bound s Hs). unfold quantile_moves. rewrite <- Hq in *.
      destruct r.
      + pose proof (person_moves q ChangeOne n table table' (signed s) (- D - sign_sum s) (D - sign_sum s) Hin Hin' Hn
          ltac:(intros x; rewrite signed_is; destruct (Hs (cell_of x)) as [-> | ->]; lia) ltac:(lia) Hk) as H1.
        cbn [rows_of] in H1. replace (D - sign_sum s - (- D - sign_sum s)) with (2 * D) in H1 by lia. exact H1.
      + assert (Hpos : 0 <= 2 * (D - least)) by (pose proof (signed_bound s 0 Hs); lia).
        pose proof (person_moves q AddRemove n table table' (signed s) (- (2 * (D - least))) (2 * (D - least)) Hin Hin' Hn
          (fun x => signed_bound s x Hs) ltac:(lia) Hk) as H1.
        replace (Z.max (- - (2 * (D - least))) (2 * (D - least))) with (2 * (D - least)) in H1 by lia. exact H1.
      + pose proof (person_moves q Either n table table' (signed s) (- D - sign_sum s) (D - sign_sum s) Hin Hin' Hn
          ltac:(intros x; rewrite signed_is; destruct (Hs (cell_of x)) as [-> | ->]; lia) ltac:(lia) Hk) as H1.
        replace (D - sign_sum s - (- D - sign_sum s)) with (2 * D) in H1 by lia. exact H1.
  Qed.
End Quantiles.

(** ** The judge: (p/q)^(2M) is at most e^ε *)
Fixpoint widths_from (D x : Z) (tops : list Z) : list Z :=
  match tops with [] => [D - x] | y :: rest => (y - x) :: widths_from D y rest end.
Definition least_of (l : list Z) : Z := fold_right Z.min (hd 0 l) l.

Definition joint_steps (q : joint_question) (r : relation) : Z :=
  match q with
  | Bracket t D _ _ _ k => bracket_steps t D k r
  | Quantiles tops D _ k => quantile_moves D k (least_of (widths_from D 0 tops)) r
  end.
Definition sound_joint (q : joint_question) : bool :=
  match q with
  | Bracket t D c _ _ k => (0 <? t) && (t <? D) && (0 <? c) && (0 <? k)
  | Quantiles tops D c k =>
      let widths := widths_from D 0 tops in
      forallb (fun w => 0 <? w) widths && (total (cells widths) (width_at widths) =? D) && (0 <? c) && (0 <? k)
  end.
Definition judge_joint (q : joint_question) (r : relation) (bits p d : Z) (l : level) : bool :=
  let M := joint_steps q r in
  sound_joint q && (0 <=? bits) && (0 <? d) && (d <=? p) && (0 <=? M) && sound l && below l (p ^ (2 * M)) (d ^ (2 * M)).

Lemma least_is : forall l w, In w l -> least_of l <= w.
Proof.
  intros l. unfold least_of. generalize (hd 0 l) as x. induction l as [|y l IH]; intros x w Hw; [destruct Hw|].
  cbn [fold_right]. destruct Hw as [->|Hw]; [|specialize (IH x w Hw)]; lia.
Qed.
Lemma least_pos : forall l, l <> [] -> forallb (fun w => 0 <? w) l = true -> 0 < least_of l.
Proof.
  intros l Hl H. unfold least_of. assert (Hx : 0 < hd 0 l).
  { destruct l; [contradiction|]. cbn [forallb] in H. apply andb_prop in H as [H _]. now apply Z.ltb_lt. }
  clear Hl. generalize dependent (hd 0 l). intros x Hx. induction l as [|y l IH]; [exact Hx|].
  cbn [forallb] in H. apply andb_prop in H as [Hy H]. apply Z.ltb_lt in Hy. cbn [fold_right]. specialize (IH H). lia.
Qed.

Section Real.
Variable F : numbers.
Variables (r : relation) (bits p d : Z) (l : level).

Lemma joint_parts : forall q, judge_joint q r bits p d l = true ->
  sound_joint q = true /\ 0 <= bits /\ 0 < d <= p /\ 0 <= joint_steps q r /\ sound l = true
  /\ below l (p ^ (2 * joint_steps q r)) (d ^ (2 * joint_steps q r)) = true.
Proof.
  intros q H. unfold judge_joint in H. cbv zeta in H.
  repeat match goal with
    | H : _ && _ = true |- _ => apply andb_prop in H as [? ?]
    | H : (_ <=? _) = true |- _ => apply Z.leb_le in H
    | H : (_ <? _) = true |- _ => apply Z.ltb_lt in H end.
  repeat split; assumption.
Qed.

(** "A quantile with both ends of its interval is private": for neighbouring tables, P(l, v, u given one)
    is at most e^ε·P(l, v, u given the other). *)
Theorem bracket_sound : forall t D c A S k, judge_joint (Bracket t D c A S k) r bits p d l = true ->
  forall E : F, is_exp E l -> forall n table table', allowed (Quantile t D c k) table -> allowed (Quantile t D c k) table' ->
  neighbouring r n table table' ->
  let w table v lu := level_of bits p d (bracket_gap t D c A S table v lu) * end_factor c lu in
  sum (range c) (fun v => sum (ends c) (chance F c (w table) v)) = one /\
  (forall v lu, In v (range c) -> le (chance F c (w table) v lu) (mul E (chance F c (w table') v lu))).
Proof.
  intros t D c A S k H E HE n table table' Hin Hin' Hn w.
  destruct (joint_parts _ H) as [Hq [Hbits [Hpq [HM [Hsound Hbelow]]]]]. cbn [sound_joint] in Hq.
  repeat match goal with
    | H : _ && _ = true |- _ => apply andb_prop in H as [? ?]
    | H : (_ <? _) = true |- _ => apply Z.ltb_lt in H end.
  pose proof (below_exp F l _ _ E Hsound Hbelow HE) as Hratio. cbn [joint_steps] in *. set (M := bracket_steps t D k r) in *.
  assert (Hfactor : forall lu, 0 < end_factor c lu).
  { intros lu. unfold end_factor. destruct (_ =? 0); destruct (_ =? c - 1); nia. }
  assert (Hpos : forall T, positive_weights (w T)).
  { intros T v lu. unfold w. pose proof (level_of_pos bits p d Hbits Hpq (bracket_gap t D c A S T v lu)). specialize (Hfactor lu). nia. }
  assert (Hgaps : forall T v lu, 0 <= bracket_gap t D c A S T v lu) by (intros; unfold bracket_gap, gap_from; lia).
  split; [now apply (bracket_rows F p d M Hpq HM c)|]. intros v lu Hv.
  apply (bracket_private F p d M Hpq HM E Hratio c); auto.
  intros v' lu' _. pose proof (bracket_moves t D c A S k r n table table' ltac:(lia) ltac:(lia) Hin Hin' Hn v' lu') as Hmove.
  fold M in Hmove. pose proof (Hgaps table v' lu'). pose proof (Hgaps table' v' lu'). specialize (Hfactor lu').
  pose proof (Hpos table v' lu'). pose proof (Hpos table' v' lu'). unfold w in *.
  set (g := bracket_gap t D c A S table v' lu') in *. set (g' := bracket_gap t D c A S table' v' lu') in *.
  pose proof (level_of_falls bits p d Hbits Hpq g g' M ltac:(lia) ltac:(lia) HM ltac:(lia)) as Hforth.
  pose proof (level_of_falls bits p d Hbits Hpq g' g M ltac:(lia) ltac:(lia) HM ltac:(lia)) as Hback.
  unfold moved_by. repeat split; try lia; nia.
Qed.

(** "Several quantiles, drawn in proportion to the products of their levels, are private": rows have places
    below [places], and L are the tuples of points. *)
Theorem quantiles_sound : forall tops D c k, judge_joint (Quantiles tops D c k) r bits p d l = true ->
  forall E : F, is_exp E l -> forall places n table table',
  allowed (Commonest places k) table -> allowed (Commonest places k) table' -> neighbouring r n table table' ->
  forall L : list (list Z), L <> [] -> (forall points, In points L -> length points = length tops) ->
  let widths := widths_from D 0 tops in
  let w table points := product_of bits p d (off_by D widths points table) (cells widths) in
  let P table points := mul (of_Z (w table points)) (over (total L (w table))) in
  sum L (P table) = one /\ (forall points, In points L -> le (P table points) (mul E (P table' points))).
Proof.
  intros tops D c k H E HE places n table table' Hin Hin' Hn L HL Hpoints widths w P.
  destruct (joint_parts _ H) as [Hq [Hbits [Hpq [HM [Hsound Hbelow]]]]]. cbn [sound_joint] in Hq. cbv zeta in Hq. fold widths in Hq.
  apply andb_prop in Hq as [Hq Hk]. apply andb_prop in Hq as [Hq _]. apply andb_prop in Hq as [Hwidths Hsum].
  apply Z.ltb_lt in Hk. apply Z.eqb_eq in Hsum.
  pose proof (below_exp F l _ _ E Hsound Hbelow HE) as Hratio. cbn [joint_steps] in *. fold widths in HM, Hratio.
  set (M := quantile_moves D k (least_of widths) r) in *.
  assert (Hlength : length widths = S (length tops)).
  { unfold widths. generalize 0. clear. induction tops as [|y tops IH]; intros x; [reflexivity|]. cbn [widths_from length]. now rewrite IH. }
  assert (Hleast : forall j, In j (cells widths) -> least_of widths <= width_at widths j).
  { intros j Hj. apply least_is. unfold width_at. apply nth_In. unfold cells in Hj. apply in_range in Hj. lia. }
  assert (Hpositive : 0 < least_of widths) by (apply least_pos; [destruct widths; [discriminate | discriminate] | exact Hwidths]).
  assert (Hw : forall T points, 0 < w T points) by (intros; apply product_pos; assumption).
  assert (Htotal : forall T, 0 < total L (w T)) by (intros; now apply (total_pos p d M Hpq HM)).
  split.
  - unfold P. apply (real_row F (list Z) L (w table) (total L (w table))); [apply Htotal | reflexivity].
  - intros points Hp. unfold P. apply (proportional_private F p d M Hpq HM E Hratio); auto.
    intros some Hsome. pose proof (Hpoints some Hsome) as Hcount.
    assert (Hmoves : forall T T', allowed (Commonest places k) T -> allowed (Commonest places k) T' -> neighbouring r n T T' ->
      w T some * d ^ M <= w T' some * p ^ M /\ w T' some * d ^ M <= w T some * p ^ M).
    { intros T T' HT HT' HTn.
      pose proof (quantiles_move D k widths Hsum (least_of widths) Hleast Hpositive some ltac:(congruence) (Commonest places k) r n T T'
        eq_refl ltac:(lia) HT HT' HTn) as Hmove. fold M in Hmove.
      assert (Hoff : forall U U' j, 0 <= off_by D widths some U j /\ 0 <= off_by D widths some U' j) by (intros; unfold off_by; lia).
      pose proof (product_falls bits p d Hbits Hpq _ (off_by D widths some T) (off_by D widths some T') (cells widths) (Hoff T T')) as [Ht Hfall].
      pose proof (product_falls bits p d Hbits Hpq _ (off_by D widths some T') (off_by D widths some T) (cells widths) (Hoff T' T)) as [Ht' Hfall'].
      rewrite (total_ext _ (cells widths) (fun j => Z.abs (off_by D widths some T' j - off_by D widths some T j))
        (fun j => Z.abs (off_by D widths some T j - off_by D widths some T' j))) in Ht', Hfall' by (intros; lia).
      pose proof (Hw T some). pose proof (Hw T' some).
      split; [apply (more_steps p d Hpq _ _ _ M (conj Ht Hmove)) | apply (more_steps p d Hpq _ _ _ M (conj Ht' Hmove))]; auto; lia. }
    destruct (Hmoves table table' Hin Hin' Hn). pose proof (Hw table some). pose proof (Hw table' some).
    unfold moved_by. repeat split; try lia; assumption.
Qed.
End Real.
