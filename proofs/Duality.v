(** * Lower bounds for every private mechanism

    Answers are the members of a list. Neighbours [i], [h] (where [near i h] is true) may have
    probabilities with a ratio of at most [E i h], which stands for exp(ε·length). A certificate
    names [alpha i h], a number with [alpha * E <= 1]. *)

From Coq Require Import ZArith List Ring Lia.
From Tightrope Require Import Numbers.
Import ListNotations.
Open Scope num_scope.

Section Duality.
  Variable F : numbers.
  Add Ring ring_of_duality : (ring_laws F).

  Variable A : Type.
  Variable answers : list A.
  Variable near : A -> A -> bool.
  Variables E alpha : A -> A -> F.
  Hypothesis alpha_pos : forall i h, 0 <= alpha i h.
  Hypothesis alpha_E : forall i h, In i answers -> In h answers -> near i h = true ->
    alpha i h * E i h <= 1.

  (** A column is what one output has under each answer. It is private when neighbours differ by
      no more than the ratio: x_i <= exp(ε·length)·x_h. *)
  Definition private (x : A -> F) : Prop :=
    (forall i, In i answers -> 0 <= x i) /\
    (forall i h, In i answers -> In h answers -> near i h = true -> x i <= E i h * x h).

  (** ** Edge inequalities give a bound along every path.

      "A path from i to k has the product of its ratios between its ends." *)
  Inductive path : A -> A -> F -> Prop :=
  | path_end : forall i, In i answers -> path i i 1
  | path_step : forall i h k r, In i answers -> near i h = true ->
      path h k r -> path i k (E i h * r).

  Lemma path_start : forall i k r, path i k r -> In i answers.
  Proof. intros i k r H. destruct H; assumption. Qed.

  Theorem private_along_paths : forall x, private x ->
    (forall i h, 0 <= E i h) ->
    forall i k r, path i k r -> x i <= r * x k.
  Proof.
    intros x [Hpos Hnear] HE i k r H.
    induction H as [i Hi | i h k r Hi Hih Hpath IH].
    - replace (1 * x i) with (x i) by ring. apply (le_refl F).
    - apply (le_trans F _ (E i h * x h)).
      + apply Hnear; try assumption. eapply path_start. exact Hpath.
      + replace (E i h * r * x k) with (E i h * (r * x k)) by ring.
        apply mul_le_l; [apply HE | exact IH].
  Qed.

  (** ** Weak duality with any number of outputs (_multipliers_)

      "For every guess k and answer i
         π_i·loss(i,k) - λ_i >= Σ_h m_k(h→i) - Σ_h α·m_k(i→h)." *)
  Definition inflow (m : A -> A -> F) (i : A) : F :=
    sum (filter (near i) answers) (fun h => m h i - alpha i h * m i h).

  (** [inflow] counts what neighbours send to [i]; the relation is symmetric. *)
  Hypothesis near_sym : forall i h, near i h = near h i.

  Lemma inflow_total : forall (m : A -> A -> F) (x : A -> F),
    sum answers (fun i => inflow m i * x i) =
    sum answers (fun i => sum answers (fun h =>
      if near i h then m i h * (x h - alpha i h * x i) else 0)).
  Proof.
    intros.
    transitivity (sum answers (fun i => sum answers (fun h =>
      if near i h then m h i * x i else 0)) -
      sum answers (fun i => sum answers (fun h =>
      if near i h then alpha i h * m i h * x i else 0))).
    - rewrite <- sum_sub. apply sum_ext. intros i _. rewrite <- sum_sub.
      unfold inflow. rewrite sum_filter.
      transitivity (x i * sum answers (fun h =>
        if near i h then m h i - alpha i h * m i h else 0)); [ring|].
      rewrite <- sum_mul. apply sum_ext. intros h _. destruct (near i h); ring.
    - rewrite sum_swap, <- sum_sub. apply sum_ext. intros i _.
      rewrite <- sum_sub. apply sum_ext. intros h _.
      rewrite (near_sym h i). destruct (near i h); ring.
  Qed.

  Lemma private_alpha : forall x i h, private x ->
    In i answers -> In h answers -> near i h = true -> 0 <= x h - alpha i h * x i.
  Proof.
    intros x i h [Hpos Hnear] Hi Hh Hih.
    replace (x h - alpha i h * x i) with
      ((1 - alpha i h * E i h) * x h + alpha i h * (E i h * x h - x i)) by ring.
    apply add_nonneg; apply (le_mul F); auto; apply sub_le; auto.
  Qed.

  (** What the multipliers of one guess prove for one private column. *)
  Lemma column_bound : forall (m : A -> A -> F) (cost price x : A -> F),
    (forall i h, 0 <= m i h) ->
    (forall i, In i answers -> inflow m i <= cost i - price i) ->
    private x ->
    sum answers (fun i => price i * x i) <= sum answers (fun i => cost i * x i).
  Proof.
    intros m cost price x Hm Hcond Hx.
    apply le_sub. rewrite <- sum_sub.
    apply (le_trans F _ (sum answers (fun i => inflow m i * x i))).
    - rewrite inflow_total. apply sum_nonneg. intros i Hi. apply sum_nonneg. intros h Hh.
      destruct (near i h) eqn:Hih; [|apply (le_refl F)].
      apply (le_mul F); [apply Hm | apply private_alpha; assumption].
    - apply sum_le. intros i Hi. destruct Hx as [Hpos _].
      apply le_sub.
      replace (cost i * x i - price i * x i - inflow m i * x i)
        with (x i * (cost i - price i - inflow m i)) by ring.
      apply (le_mul F); [apply Hpos; exact Hi | apply sub_le, Hcond, Hi].
  Qed.

  (** A mechanism is a finite list of outputs, each with its column and the guess that the consumer
      makes; every row sums to 1. *)
  Variables G O : Type.
  Variable guesses : list G.
  Variable column : O -> A -> F.
  Variable guess : O -> G.
  Definition mechanism := list O.
  Definition rows (M : mechanism) : Prop :=
    (forall o, In o M -> In (guess o) guesses) /\
    (forall i, In i answers -> sum M (fun o => column o i) = 1).
  Definition all_private (M : mechanism) : Prop := forall o, In o M -> private (column o).
  Definition expected (cost : G -> A -> F) (M : mechanism) : F :=
    sum M (fun o => sum answers (fun i => cost (guess o) i * column o i)).

  Lemma prices_of_rows : forall (M : mechanism) price, rows M ->
    sum answers price = sum M (fun o => sum answers (fun i => price i * column o i)).
  Proof.
    intros M price H. rewrite sum_swap. apply sum_ext. intros i Hi.
    rewrite sum_mul, (proj2 H i Hi). ring.
  Qed.

  (** "No private mechanism, with whatever outputs, has a loss below Σ λ_i." *)
  Theorem weak_duality : forall (m : G -> A -> A -> F) (cost : G -> A -> F) price,
    (forall k i h, 0 <= m k i h) ->
    (forall k i, In k guesses -> In i answers -> inflow (m k) i <= cost k i - price i) ->
    forall M : mechanism, rows M -> all_private M ->
    sum answers price <= expected cost M.
  Proof.
    intros m cost price Hm Hcond M Hrows Hpriv.
    rewrite (prices_of_rows M price Hrows). unfold expected.
    apply sum_le. intros o Ho.
    apply column_bound with (m := m (guess o)); auto.
    intros i Hi. apply Hcond; [apply (proj1 Hrows) |]; assumption.
  Qed.

  (** "A risk-averse consumer loses at least as much as under any prior over the possible
      answers." *)
  Theorem worst_case : forall (prior : A -> F) (loss : G -> A -> F),
    (forall i, In i answers -> 0 <= prior i) -> sum answers prior = 1 ->
    forall (M : mechanism) worst,
    (forall i, In i answers ->
       prior i = 0 \/ sum M (fun o => loss (guess o) i * column o i) <= worst) ->
    expected (fun k i => prior i * loss k i) M <= worst.
  Proof.
    intros prior loss Hprior Hone M worst Hworst.
    unfold expected. rewrite sum_swap.
    replace worst with (worst * sum answers prior) by (rewrite Hone; ring).
    rewrite <- sum_mul. apply sum_le. intros i Hi.
    replace (sum M (fun o => prior i * loss (guess o) i * column o i))
      with (prior i * sum M (fun o => loss (guess o) i * column o i)).
    - destruct (Hworst i Hi) as [Hz | Hle].
      + rewrite Hz.
        replace (0 * sum M (fun o => loss (guess o) i * column o i)) with (0 : F) by ring.
        replace (worst * 0) with (0 : F) by ring. apply (le_refl F).
      + replace (worst * prior i) with (prior i * worst) by ring. apply mul_le_l; auto.
    - rewrite <- sum_mul. apply sum_ext. intros. ring.
  Qed.

  (** ** With δ (_slack_)

      "Let e be what the column of an output exceeds exp(ε) times its neighbour by; on each arc the
      e sum to at most δ over the outputs." Summed over a set of outputs this is the usual
      P(S) <= exp(ε)·P'(S) + δ, and the set of the outputs with e > 0 gives it back. *)
  Definition slack_private (delta : F) (M : mechanism) : Prop :=
    (forall o i, In o M -> In i answers -> 0 <= column o i) /\
    (forall i h, In i answers -> In h answers -> near i h = true ->
       exists e : O -> F,
         (forall o, In o M -> 0 <= e o /\ column o i <= E i h * column o h + e o) /\
         sum M e <= delta).

  (** "The bound is Σ λ_i - δ·Σ_(i→h) α·max_k m_k(i→h)." *)
  Theorem weak_duality_slack :
    forall (m : G -> A -> A -> F) (cost : G -> A -> F) price (most : A -> A -> F) delta,
    (forall k i h, 0 <= m k i h) ->
    (forall i h, 0 <= most i h) ->
    (forall k i h, In k guesses -> m k i h <= most i h) ->
    (forall k i, In k guesses -> In i answers -> inflow (m k) i <= cost k i - price i) ->
    forall M : mechanism, rows M -> slack_private delta M ->
    sum answers price -
      delta * sum answers (fun i => sum answers (fun h =>
        if near i h then alpha i h * most i h else 0))
    <= expected cost M.
  Proof.
    intros m cost price most delta Hm Hmost0 Hmost Hcond M Hrows [Hpos Hslack].
    rewrite (prices_of_rows M price Hrows).
    (* What the columns have left, summed over all of them, arc by arc. *)
    assert (Hcol : sum M (fun o => sum answers (fun i => inflow (m (guess o)) i * column o i))
      <= expected cost M - sum M (fun o => sum answers (fun i => price i * column o i))).
    { unfold expected. rewrite <- sum_sub. apply sum_le. intros o Ho.
      rewrite <- sum_sub. apply sum_le. intros i Hi. apply le_sub.
      replace (cost (guess o) i * column o i - price i * column o i - inflow (m (guess o)) i * column o i)
        with (column o i * (cost (guess o) i - price i - inflow (m (guess o)) i)) by ring.
      apply (le_mul F); [apply Hpos; assumption|].
      apply sub_le, Hcond; [apply (proj1 Hrows)|]; assumption. }
    assert (Harc : forall i h, In i answers -> In h answers -> near i h = true ->
      - (delta * (alpha i h * most i h)) <=
      sum M (fun o => m (guess o) i h * (column o h - alpha i h * column o i))).
    { intros i h Hi Hh Hih. destruct (Hslack i h Hi Hh Hih) as [e [He Hsum]].
      apply (le_trans F _ (sum M (fun o => - (alpha i h * most i h) * e o))).
      - rewrite sum_mul. apply le_sub.
        replace (- (alpha i h * most i h) * sum M e - - (delta * (alpha i h * most i h)))
          with (alpha i h * most i h * (delta - sum M e)) by ring.
        apply (le_mul F); [|apply sub_le; exact Hsum].
        apply (le_mul F); [apply alpha_pos | apply Hmost0].
      - apply sum_le. intros o Ho. destruct (He o Ho) as [Hee Hx].
        apply le_sub.
        replace (m (guess o) i h * (column o h - alpha i h * column o i)
                 - - (alpha i h * most i h) * e o)
          with (m (guess o) i h * ((1 - alpha i h * E i h) * column o h
                  + alpha i h * (E i h * column o h + e o - column o i))
                + alpha i h * ((most i h - m (guess o) i h) * e o)) by ring.
        apply add_nonneg.
        + apply (le_mul F); [apply Hm|]. apply add_nonneg; apply (le_mul F); auto; apply sub_le; auto.
        + apply (le_mul F); [apply alpha_pos|]. apply (le_mul F); [|exact Hee]. apply sub_le, Hmost, (proj1 Hrows), Ho. }
    set (arcs := sum answers (fun i => sum answers (fun h =>
      if near i h then alpha i h * most i h else 0))).
    set (priced := sum M (fun o => sum answers (fun i => price i * column o i))) in *.
    apply (le_trans F _ (sum M (fun o => sum answers (fun i => inflow (m (guess o)) i * column o i))
      + priced)).
    2: { apply le_sub. apply sub_le in Hcol.
         match goal with |- 0 <= ?g => match type of Hcol with 0 <= ?t =>
           replace g with t by ring end end. exact Hcol. }
    apply le_sub.
    replace (sum M (fun o => sum answers (fun i => inflow (m (guess o)) i * column o i)) + priced
      - (priced - delta * arcs)) with
      (sum M (fun o => sum answers (fun i => inflow (m (guess o)) i * column o i)) + delta * arcs)
      by ring.
    rewrite (sum_ext F _ M _ (fun o => sum answers (fun i => sum answers (fun h =>
      if near i h then m (guess o) i h * (column o h - alpha i h * column o i) else 0))))
      by (intros; apply inflow_total).
    rewrite sum_swap. unfold arcs. rewrite <- sum_mul, <- sum_add.
    apply sum_nonneg. intros i Hi. rewrite sum_swap, <- sum_mul, <- sum_add.
    apply sum_nonneg. intros h Hh. destruct (near i h) eqn:Hih.
    - specialize (Harc i h Hi Hh Hih). apply sub_le in Harc.
      match goal with |- 0 <= ?g => match type of Harc with 0 <= ?t =>
        replace g with t by ring end end. exact Harc.
    - rewrite sum_zero. replace (0 + delta * 0) with (0 : F) by ring. apply (le_refl F).
  Qed.

  (** ** With a limit on leakage

      An attacker who does w gains a_w(i) under answer i; over the outputs he gains
      V = Σ_o max_w a_w·x_o. [gains V M] says that V is at least that. *)
  Variable W : Type.
  Variable actions : list W.
  Variable attack : W -> A -> F.
  Definition gain (w : W) (x : A -> F) : F := sum answers (fun i => attack w i * x i).
  Definition gains (V : F) (M : mechanism) : Prop :=
    exists best : O -> F,
      (forall o w, In o M -> In w actions -> gain w (column o) <= best o) /\ sum M best <= V.

  (** "A maximum is no less than a mean": choices q_k(w) >= 0 of sum θ are worth at most θ·V. *)
  Lemma choices_cost : forall (M : mechanism) V (q : G -> W -> F) theta,
    (forall k w, 0 <= q k w) -> (forall k, In k guesses -> sum actions (q k) = theta) -> 0 <= theta ->
    rows M -> gains V M ->
    expected (fun k i => sum actions (fun w => q k w * attack w i)) M <= theta * V.
  Proof.
    intros M V q theta Hq Hsum Htheta Hrows [best [Hbest HV]].
    apply (le_trans F _ (theta * sum M best)); [|apply mul_le_l; assumption].
    unfold expected. rewrite <- sum_mul. apply sum_le. intros o Ho.
    apply (le_trans F _ (sum actions (fun w => q (guess o) w * gain w (column o)))).
    - replace (sum answers (fun i => sum actions (fun w => q (guess o) w * attack w i) * column o i))
        with (sum actions (fun w => q (guess o) w * gain w (column o))); [apply (le_refl F)|].
      rewrite (sum_ext F _ answers _ (fun i => sum actions (fun w =>
        q (guess o) w * attack w i * column o i))).
      + rewrite sum_swap. apply sum_ext. intros w _. unfold gain. rewrite <- sum_mul.
        apply sum_ext. intros. ring.
      + intros i _.
        replace (sum actions (fun w => q (guess o) w * attack w i) * column o i)
          with (column o i * sum actions (fun w => q (guess o) w * attack w i)) by ring.
        rewrite <- sum_mul. apply sum_ext. intros. ring.
    - rewrite <- (Hsum (guess o)) by (apply (proj1 Hrows); exact Ho).
      replace (sum actions (q (guess o)) * best o) with (best o * sum actions (q (guess o))) by ring.
      rewrite <- sum_mul. apply sum_le. intros w Hw.
      replace (best o * q (guess o) w) with (q (guess o) w * best o) by ring.
      apply mul_le_l; auto.
  Qed.

  (** "Under a limit v on V the loss is at least Σ λ_i - θ·v"; counted [t] times, with choices of
      sum θ. Under a limit on the loss the same inequality bounds V from below. *)
  Theorem weak_duality_limit :
    forall (m : G -> A -> A -> F) (cost : G -> A -> F) price (q : G -> W -> F) theta t,
    (forall k i h, 0 <= m k i h) ->
    (forall k i, In k guesses -> In i answers ->
       inflow (m k) i <= t * cost k i + sum actions (fun w => q k w * attack w i) - price i) ->
    (forall k w, 0 <= q k w) -> (forall k, In k guesses -> sum actions (q k) = theta) -> 0 <= theta ->
    forall (M : mechanism) V, rows M -> all_private M -> gains V M ->
    sum answers price <= t * expected cost M + theta * V.
  Proof.
    intros m cost price q theta t Hm Hcond Hq Hsum Htheta M V Hrows Hpriv HV.
    apply (le_trans F _ (expected (fun k i => t * cost k i +
      sum actions (fun w => q k w * attack w i)) M)).
    - apply (weak_duality m); assumption.
    - replace (expected (fun k i => t * cost k i + sum actions (fun w => q k w * attack w i)) M)
        with (t * expected cost M
          + expected (fun k i => sum actions (fun w => q k w * attack w i)) M).
      + apply add_le; [apply (le_refl F)|]. apply choices_cost; assumption.
      + unfold expected. rewrite <- sum_mul, <- sum_add. apply sum_ext. intros o _.
        rewrite <- sum_mul, <- sum_add. apply sum_ext. intros. ring.
  Qed.

  (** ** Remaps and sums keep privacy

      "What is private stays private when outputs are joined." *)
  Theorem private_sum : forall B (l : list B) (x : B -> A -> F),
    (forall b, In b l -> private (x b)) -> private (fun i => sum l (fun b => x b i)).
  Proof.
    intros B l x H. split.
    - intros i Hi. apply sum_nonneg. intros b Hb. now apply (H b Hb).
    - intros i h Hi Hh Hih. rewrite <- sum_mul. apply sum_le. intros b Hb. now apply (H b Hb).
  Qed.

  (** "A private column times a number that is not negative is private." *)
  Theorem private_scale : forall c x, 0 <= c -> private x -> private (fun i => c * x i).
  Proof.
    intros c x Hc [Hpos Hnear]. split.
    - intros. apply (le_mul F); auto.
    - intros i h Hi Hh Hih. replace (E i h * (c * x h)) with (c * (E i h * x h)) by ring.
      apply mul_le_l; auto.
  Qed.

  (** A remap by chance: from output o the guess c is made with probability [r o c]. *)
  Theorem private_remap : forall (M : list (A -> F)) (C : Type) (r : (A -> F) -> C -> F) c,
    (forall o, In o M -> private o) -> (forall o, 0 <= r o c) ->
    private (fun i => sum M (fun o => r o c * o i)).
  Proof. intros. apply private_sum. intros. apply private_scale; auto. Qed.
End Duality.
