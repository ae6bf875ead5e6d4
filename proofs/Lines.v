(** * The loss of noise on a line, and a bound for every private mechanism

    _Lattice_ weights of count, path, sum and mean (Lattice.v): answers are 0 … n, and two are
    neighbours when they are at most v apart. The noise is held between the ends; the stated loss is
    the worst one over all answers. No private mechanism on the same answers, whatever its outputs,
    has a worst loss below the stated bound. *)

From Coq Require Import ZArith List Ring Lia Bool.
From Tightrope Require Import Numbers Duality Exponential Questions Lattice Ends.
Import ListNotations.
Open Scope Z_scope.

(** ** Losses by t = |guess - answer|: binary, distance, absolute, squared *)
Inductive loss_name := Unequal | Steps | Gaps | Squares.
Definition phi (k : loss_name) (v t : Z) : Z :=
  match k with Unequal => if t =? 0 then 0 else 1 | Steps => up t v | Gaps => t | Squares => t * t end.

Section Losses.
  Variables (k : loss_name) (v : Z).
  Hypothesis Hv : 1 <= v.

  Lemma up_step : forall t, up (t + v) v = up t v + 1.
  Proof.
    intros t. unfold up. replace (- (t + v)) with (- t + (-1) * v) by ring. rewrite Z.div_add by lia. lia.
  Qed.
  Lemma up_first : forall t, 1 <= t <= v -> up t v = 1.
  Proof. intros t Ht. pose proof (up_bounds t v). nia. Qed.
  Lemma up_rises : forall s t, 0 <= s <= t -> 0 <= up s v <= up t v.
  Proof. intros s t H. pose proof (up_bounds s v). pose proof (up_bounds t v). nia. Qed.

  Lemma phi_rises : forall s t, 0 <= s <= t -> 0 <= phi k v s <= phi k v t.
  Proof.
    intros s t H. destruct k; cbn [phi].
    - destruct (Z.eqb_spec s 0); destruct (Z.eqb_spec t 0); lia.
    - now apply up_rises.
    - lia.
    - nia.
  Qed.
  Lemma phi_zero : phi k v 0 = 0.
  Proof. now destruct k. Qed.
  Lemma phi_one : phi k v 1 = 1.
  Proof. destruct k; cbn [phi]; try reflexivity. apply up_first. lia. Qed.

  (** Σ φ(t) over t = 1 … n. *)
  Definition ball (n : Z) : Z :=
    match k with
    | Unequal => n
    | Steps => let whole := n / v in v * (whole * (whole + 1) / 2) + n mod v * (whole + 1)
    | Gaps => n * (n + 1) / 2
    | Squares => n * (n + 1) * (2 * n + 1) / 6
    end.

  Lemma half_step : forall n, (n + 1) * (n + 1 + 1) / 2 = n * (n + 1) / 2 + (n + 1).
  Proof.
    intros n. replace ((n + 1) * (n + 1 + 1)) with (n * (n + 1) + (n + 1) * 2) by ring. now apply Z.div_add.
  Qed.

  Lemma ball_step : forall n, 0 <= n -> ball (n + 1) = ball n + phi k v (n + 1).
  Proof.
    intros n Hn. unfold ball, phi. destruct k.
    - destruct (Z.eqb_spec (n + 1) 0); lia.
    - pose proof (Z.div_mod n v ltac:(lia)) as Hd. pose proof (Z.mod_pos_bound n v ltac:(lia)) as Hm.
      pose proof (Z.div_mod (n + 1) v ltac:(lia)) as Hd'. pose proof (Z.mod_pos_bound (n + 1) v ltac:(lia)) as Hm'.
      pose proof (up_bounds (n + 1) v ltac:(lia)) as Hup.
      assert (Hu : up (n + 1) v = n / v + 1) by nia. rewrite Hu.
      destruct (Z.eq_dec (n mod v + 1) v) as [He|He].
      + assert (Hq : (n + 1) / v = n / v + 1) by nia. assert (Hr : (n + 1) mod v = 0) by nia.
        rewrite Hq, Hr, half_step. nia.
      + assert (Hq : (n + 1) / v = n / v) by nia. assert (Hr : (n + 1) mod v = n mod v + 1) by nia.
        rewrite Hq, Hr. nia.
    - apply half_step.
    - replace ((n + 1) * (n + 1 + 1) * (2 * (n + 1) + 1)) with (n * (n + 1) * (2 * n + 1) + (n + 1) * (n + 1) * 6) by ring.
      now apply Z.div_add.
  Qed.

  Lemma ball_range : forall n m, 0 <= m -> total (count_from n (m + 1)) (phi k v) = ball (m + Z.of_nat n) - ball m.
  Proof.
    induction n as [|n IH]; intros m Hm.
    - rewrite Z.add_0_r. unfold total. simpl. lia.
    - cbn [count_from]. rewrite total_cons, IH by lia. rewrite ball_step by lia.
      replace (m + 1 + Z.of_nat n) with (m + Z.of_nat (S n)) by lia. lia.
  Qed.
  Lemma ball_zero : ball 0 = 0.
  Proof.
    unfold ball. destruct k; try reflexivity. rewrite Z.div_0_l, Z.mod_0_l by lia. change (0 * (0 + 1) / 2) with 0. lia.
  Qed.
End Losses.

(** ** The bound

    Let α = a/D. Outwards from a guess, G(t) is what a point at distance t > c receives from the point v
    nearer, so D·G(t) - a·G(t+v) = S·φ(t) - P. Points up to the distance c have a deficit of -G(t) left,
    which the points from c+1 to v pay: each of them is near each of those. For columns on the whole line
    so Σ x_t·(S·φ(t) - P) >= 0; at an end, G is at most C + K·φ. Added up over the outputs of a
    mechanism whose worst loss is V this is V·((n+1)·S + 2v·a·K) >= (n+1)·P - 2v·a·C. *)
Section Side.
  Variable F : numbers.
  Add Ring ring_of_lines : (ring_laws F).
  Local Open Scope num_scope.
  Local Notation of_Z := (@Numbers.of_Z F).

  Lemma sum_app : forall A (l m : list A) (g : A -> F), sum (l ++ m) g = sum l g + sum m g.
  Proof. intros A l m g. induction l as [|b l IH]; simpl; [|rewrite IH]; ring. Qed.
  Lemma sum_last : forall n i (g : Z -> F), sum (count_from (S n) i) g = sum (count_from n i) g + g (i + Z.of_nat n)%Z.
  Proof.
    intros n i g. replace (S n) with (n + 1)%nat by lia. rewrite count_from_app, sum_app.
    cbn [count_from sum fold_right]. ring.
  Qed.
  Lemma sum_cons : forall n i (g : Z -> F), sum (count_from (S n) i) g = g i + sum (count_from n (i + 1)) g.
  Proof. reflexivity. Qed.
  Lemma sum_onwards : forall n i j (g : Z -> F),
    sum (count_from n (i + j)) g = sum (count_from n j) (fun t => g (i + t)%Z).
  Proof.
    induction n as [|n IH]; intros; [reflexivity|]. rewrite !sum_cons. replace (i + j + 1)%Z with (i + (j + 1))%Z by lia.
    now rewrite IH.
  Qed.
  Lemma sum_backwards : forall n i (g : Z -> F),
    sum (count_from n i) g = sum (count_from n 1) (fun t => g (i + Z.of_nat n - t)%Z).
  Proof.
    induction n as [|n IH]; intros; [reflexivity|]. rewrite sum_cons, IH, sum_last.
    replace (i + Z.of_nat (S n) - (1 + Z.of_nat n))%Z with i by lia.
    rewrite (sum_ext F _ _ _ (fun t => g (i + Z.of_nat (S n) - t)%Z)) by (intros; f_equal; lia). ring.
  Qed.
  Lemma sum_const : forall A (l : list A) (f : A -> Z) (y : F), sum l (fun z => of_Z (f z) * y) = of_Z (total l f) * y.
  Proof.
    intros. transitivity (sum l (fun z => of_Z (f z)) * y).
    - induction l as [|z l IH]; simpl; [|rewrite IH]; ring.
    - now rewrite <- sum_of_Z.
  Qed.
  Lemma total_times : forall A (l : list A) (b : Z) (g : A -> Z), total l (fun z => b * g z)%Z = (b * total l g)%Z.
  Proof. induction l as [|z l IH]; intros; [unfold total; simpl; lia|]. rewrite !total_cons, IH. lia. Qed.
  Lemma total_one : forall n, (0 <= n)%Z -> total (range n) (fun _ => 1%Z) = n.
  Proof. intros n Hn. unfold range. rewrite total_const. lia. Qed.

  Variables (v a D S P c C K : Z).
  Variables G f : Z -> Z.
  Hypothesis Hv : (1 <= v)%Z.
  Hypothesis Ha : (0 < a)%Z.
  Hypothesis HD : (a <= D)%Z.
  Hypothesis HP : (0 <= P)%Z.
  Hypothesis Hc : (0 <= c < v)%Z.
  Hypothesis Hsteps : forall t, (1 <= t)%Z -> (D * G t - a * G (t + v) = S * f t - P)%Z.
  Hypothesis Hbelow : forall t, (1 <= t <= c)%Z -> (G t <= 0)%Z.
  Hypothesis Habove : forall t, (c < t)%Z -> (0 <= G t)%Z.
  Notation deficits := (count_from (Z.to_nat c) 1).
  Notation payers := (count_from (Z.to_nat (v - c)) (c + 1)).
  Hypothesis Hpayers : (0 < total payers G)%Z.
  Hypothesis Hcore : (P - 2 * D * total deficits G <= 2 * a * total payers G)%Z.
  Hypothesis Hstart : f 0%Z = 0%Z.
  Hypothesis Hend_zero : (P <= 2 * a * C)%Z.
  Hypothesis Hend_near : forall t, (1 <= t)%Z -> (P - S * f t <= a * (C + K * f t))%Z.
  Hypothesis Hend : forall t, (1 <= t)%Z -> (G (t + v) <= C + K * f t)%Z.

  Section Outwards.
    Variables (x : Z -> F) (m : Z).
    Hypothesis Hpos : forall t, (0 <= t <= m)%Z -> 0 <= x t.
    Hypothesis Hnear : forall y z, (0 <= y <= m)%Z -> (0 <= z <= m)%Z -> (Z.abs (y - z) <= v)%Z ->
      of_Z a * x y <= of_Z D * x z.

    Lemma deficits_paid : (v <= m)%Z ->
      0 <= sum (count_from (Z.to_nat v) 1) (fun t => of_Z (2 * D * G t) * x t) - of_Z P * x 0%Z.
    Proof.
      intros Hm. set (Q := total payers G) in *.
      set (paid := sum payers (fun z => of_Z (D * G z) * x z)).
      assert (Hpaid : forall y, (0 <= y <= c)%Z -> of_Z (a * Q) * x y <= paid).
      { intros y Hy. replace (of_Z (a * Q) * x y) with (sum payers (fun z => of_Z (G z) * (of_Z a * x y))).
        - apply sum_le. intros z Hz. apply in_count_from in Hz. rewrite (of_Z_mul F).
          replace (of_Z D * of_Z (G z) * x z) with (of_Z (G z) * (of_Z D * x z)) by ring.
          apply mul_le_l; [apply of_Z_nonneg, Habove; lia | apply Hnear; lia].
        - rewrite sum_const. fold Q. rewrite (of_Z_mul F). ring. }
      assert (Hpaid0 : 0 <= paid).
      { apply (le_trans F _ (of_Z (a * Q) * x 0%Z)); [|apply Hpaid; lia].
        apply (le_mul F); [apply of_Z_nonneg; nia | apply Hpos; lia]. }
      set (owed := sum deficits (fun y => of_Z (- (D * G y)) * x y)).
      assert (Howed : of_Z (a * Q) * owed <= of_Z (- (D * total deficits G)) * paid).
      { unfold owed. rewrite <- sum_mul.
        replace (of_Z (- (D * total deficits G)) * paid) with (sum deficits (fun y => of_Z (- (D * G y)) * paid)).
        - apply sum_le. intros y Hy. apply in_count_from in Hy.
          replace (of_Z (a * Q) * (of_Z (- (D * G y)) * x y)) with (of_Z (- (D * G y)) * (of_Z (a * Q) * x y)) by ring.
          apply mul_le_l; [apply of_Z_nonneg; specialize (Hbelow y); nia | apply Hpaid; lia].
        - rewrite sum_const. do 2 f_equal. generalize deficits. induction l as [|y l IH]; [unfold total; simpl; lia|].
          rewrite !total_cons, IH. lia. }
      replace (Z.to_nat v) with (Z.to_nat c + Z.to_nat (v - c))%nat by lia.
      rewrite count_from_app, sum_app, Z2Nat.id by lia. replace (1 + c)%Z with (c + 1)%Z by lia.
      rewrite (sum_ext F _ payers _ (fun t => of_Z 2 * (of_Z (D * G t) * x t)))
        by (intros; rewrite !(of_Z_mul F); ring).
      rewrite (sum_ext F _ deficits _ (fun t => (0 - of_Z 2) * (of_Z (- (D * G t)) * x t))).
      2:{ intros t _. replace (- (D * G t))%Z with (0 - D * G t)%Z by lia.
          rewrite of_Z_sub, !(of_Z_mul F), (of_Z_zero F). ring. }
      rewrite !sum_mul. fold paid owed. apply sub_le. apply (le_cancel F (a * Q)); [nia|].
      apply le_sub.
      replace (of_Z (a * Q) * ((0 - of_Z 2) * owed + of_Z 2 * paid) - of_Z (a * Q) * (of_Z P * x 0%Z))
        with (of_Z 2 * (of_Z (- (D * total deficits G)) * paid - of_Z (a * Q) * owed)
          + (of_Z P * (paid - of_Z (a * Q) * x 0%Z)
          + (of_Z (2 * (a * Q)) - (of_Z P + of_Z 2 * of_Z (- (D * total deficits G)))) * paid))
        by (rewrite (of_Z_mul F 2); ring).
      apply add_nonneg; [apply (le_mul F); [apply of_Z_nonneg; lia | now apply sub_le]|].
      apply add_nonneg; [apply (le_mul F); [now apply of_Z_nonneg | apply sub_le, Hpaid; lia]|].
      apply (le_mul F); [|exact Hpaid0]. apply sub_le. rewrite <- (of_Z_mul F), <- (of_Z_add F).
      apply (of_Z_le F). lia.
    Qed.

    Notation net t := (2 * (S * f t - P))%Z.
    Definition spared (t : Z) : Z := if (m - t <? v)%Z then (2 * a * (C + K * f t))%Z else 0%Z.

    (** Far from the end every arc counts; of the last v points the arcs that lead beyond it are left out. *)
    Lemma far_from_end : forall n, (v + Z.of_nat n <= m)%Z ->
      0 <= sum (count_from (Z.to_nat v + n) 1) (fun t => of_Z (net t) * x t) - of_Z P * x 0%Z
        + sum (count_from (Z.to_nat v) (1 + Z.of_nat n)) (fun t => of_Z (2 * a * G (t + v)) * x t).
    Proof.
      induction n as [|n IH]; intros Hm.
      - rewrite Nat.add_0_r. change (1 + Z.of_nat 0)%Z with 1%Z. pose proof (deficits_paid ltac:(lia)) as Hpaid.
        match goal with |- 0 <= ?s - ?p + ?w => replace (s - p + w) with (s + w - p) by ring end.
        rewrite <- sum_add. rewrite (sum_ext F _ _ _ (fun t => of_Z (2 * D * G t) * x t)); [exact Hpaid|].
        intros t Ht. apply in_count_from in Ht. rewrite <- Hsteps by lia.
        rewrite !(of_Z_mul F), of_Z_sub, !(of_Z_mul F). ring.
      - specialize (IH ltac:(lia)). replace (Z.to_nat v + Datatypes.S n)%nat with (Datatypes.S (Z.to_nat v + n)) by lia.
        rewrite sum_last. replace (1 + Z.of_nat (Z.to_nat v + n))%Z with (1 + Z.of_nat n + v)%Z by lia.
        replace (1 + Z.of_nat (Datatypes.S n))%Z with (1 + Z.of_nat n + 1)%Z by lia.
        destruct (Z.to_nat v) as [|w] eqn:Ew; [lia|].
        rewrite sum_cons in IH. rewrite sum_last.
        replace (1 + Z.of_nat n + 1 + Z.of_nat w)%Z with (1 + Z.of_nat n + v)%Z by lia.
        set (y := (1 + Z.of_nat n)%Z) in *.
        set (inner := sum (count_from w (y + 1)) _) in *. set (whole := sum (count_from (Datatypes.S w + n) 1) _) in *.
        rewrite <- (Hsteps (y + v)) by lia.
        replace (whole + of_Z (2 * (D * G (y + v) - a * G (y + v + v))) * x (y + v)%Z - of_Z P * x 0%Z
            + (inner + of_Z (2 * a * G (y + v + v)) * x (y + v)%Z))
          with ((whole - of_Z P * x 0%Z + (of_Z (2 * a * G (y + v)) * x y + inner))
            + of_Z (2 * G (y + v)) * (of_Z D * x (y + v)%Z - of_Z a * x y))
          by (rewrite !(of_Z_mul F), of_Z_sub, !(of_Z_mul F); ring).
        apply add_nonneg; [exact IH|]. apply (le_mul F); [apply of_Z_nonneg; specialize (Habove (y + v)); lia|].
        apply sub_le, Hnear; lia.
    Qed.

    Theorem side_floor : (0 <= m)%Z ->
      0 <= of_Z (spared 0 - P) * x 0%Z + sum (count_from (Z.to_nat m) 1) (fun t => of_Z (net t + spared t) * x t).
    Proof.
      intros Hm. destruct (Z.lt_ge_cases m v) as [Hnext|Hfar].
      - (* Near an end nothing is sent. *)
        apply add_nonneg; [|apply sum_nonneg; intros t Ht; apply in_count_from in Ht];
          (apply (le_mul F); [apply of_Z_nonneg | apply Hpos; lia]); unfold spared.
        + replace (m - 0 <? v)%Z with true by (symmetry; apply Z.ltb_lt; lia). rewrite Hstart. lia.
        + replace (m - t <? v)%Z with true by (symmetry; apply Z.ltb_lt; lia). specialize (Hend_near t ltac:(lia)). lia.
      - pose proof (far_from_end (Z.to_nat (m - v)) ltac:(lia)) as Hall.
        replace (Z.to_nat v + Z.to_nat (m - v))%nat with (Z.to_nat m) in Hall by lia.
        apply (le_trans F _ _ _ Hall).
        rewrite (sum_ext F _ (count_from (Z.to_nat m) 1) (fun t => of_Z (net t + spared t) * x t) (fun t => of_Z (net t) * x t + of_Z (spared t) * x t))
          by (intros; rewrite (of_Z_add F); ring).
        rewrite sum_add.
        assert (Htail : sum (count_from (Z.to_nat v) (1 + Z.of_nat (Z.to_nat (m - v)))) (fun t => of_Z (2 * a * G (t + v)) * x t)
          <= of_Z (spared 0) * x 0%Z + sum (count_from (Z.to_nat m) 1) (fun t => of_Z (spared t) * x t)).
        { assert (H0 : 0 <= of_Z (spared 0) * x 0%Z).
          { apply (le_mul F); [apply of_Z_nonneg | apply Hpos; lia]. unfold spared. rewrite Hstart.
            destruct (m - 0 <? v)%Z; lia. }
          replace (Z.to_nat m) with (Z.to_nat (m - v) + Z.to_nat v)%nat by lia. rewrite count_from_app, sum_app.
          set (last := sum (count_from (Z.to_nat v) _) (fun t => of_Z (spared t) * x t)).
          apply (le_trans F _ last).
          - apply sum_le. intros t Ht. apply in_count_from in Ht.
            replace (of_Z (2 * a * G (t + v)) * x t) with (x t * of_Z (2 * a * G (t + v))) by ring.
            replace (of_Z (spared t) * x t) with (x t * of_Z (spared t)) by ring.
            apply mul_le_l; [apply Hpos; lia|]. apply (of_Z_le F). unfold spared.
            replace (m - t <? v)%Z with true by (symmetry; apply Z.ltb_lt; lia). specialize (Hend t ltac:(lia)). nia.
          - apply le_sub. match goal with |- 0 <= ?e => replace e with
              (of_Z (spared 0) * x 0%Z + sum (count_from (Z.to_nat (m - v)) 1) (fun t => of_Z (spared t) * x t)) by ring end.
            apply add_nonneg; [exact H0|]. apply sum_nonneg. intros t Ht. apply in_count_from in Ht.
            apply (le_mul F); [apply of_Z_nonneg | apply Hpos; lia]. unfold spared.
            destruct (m - t <? v)%Z; [|lia]. specialize (Hend t ltac:(lia)). specialize (Habove (t + v) ltac:(lia)). nia. }
        set (tail := sum (count_from (Z.to_nat v) _) _) in *. set (kept := sum (count_from (Z.to_nat m) 1) (fun t => of_Z (spared t) * x t)) in *.
        set (whole := sum (count_from (Z.to_nat m) 1) (fun t => of_Z (net t) * x t)).
        apply le_sub. apply sub_le in Htail. rewrite of_Z_sub.
        match goal with |- 0 <= ?e => match type of Htail with 0 <= ?g => replace e with g by ring end end. exact Htail.
    Qed.
  End Outwards.

  (** ** Both sides of a guess, and all outputs *)
  Variable n : Z.
  Hypothesis Hn : (v <= n + 1)%Z.
  Definition end_of (i : Z) : Z := ((if (n - i <? v)%Z then 1 else 0) + (if (i <? v)%Z then 1 else 0))%Z.
  Notation cost g i := (2 * (S * f (Z.abs (g - i)) - P) + 2 * a * (C + K * f (Z.abs (g - i))) * end_of i)%Z.
  Hypothesis Hfull : forall t, (0 <= t)%Z -> (0 <= C + K * f t)%Z.

  Lemma column_floor : forall x g, (0 <= g <= n)%Z ->
    (forall i, (0 <= i <= n)%Z -> 0 <= x i) ->
    (forall y z, (0 <= y <= n)%Z -> (0 <= z <= n)%Z -> (Z.abs (y - z) <= v)%Z -> of_Z a * x y <= of_Z D * x z) ->
    0 <= sum (range (n + 1)) (fun i => of_Z (cost g i) * x i).
  Proof.
    intros x g Hg Hpos Hnear.
    pose proof (side_floor (fun t => x (g + t)%Z) (n - g) ltac:(intros; apply Hpos; lia)
      ltac:(intros; apply Hnear; lia) ltac:(lia)) as Hright.
    pose proof (side_floor (fun t => x (g - t)%Z) g ltac:(intros; apply Hpos; lia)
      ltac:(intros; apply Hnear; lia) ltac:(lia)) as Hleft.
    cbv beta in Hright, Hleft. rewrite Z.add_0_r in Hright. rewrite Z.sub_0_r in Hleft.
    apply (le_trans F _ _ _ (add_nonneg F _ _ Hright Hleft)).
    unfold range. replace (Z.to_nat (n + 1)) with (Z.to_nat g + (1 + Z.to_nat (n - g)))%nat by lia.
    rewrite !count_from_app, !sum_app. cbn [count_from]. rewrite Z.add_0_l, Z2Nat.id by lia. change (Z.of_nat 1) with 1%Z.
    rewrite (sum_backwards (Z.to_nat g) 0), (sum_onwards (Z.to_nat (n - g)) g 1). rewrite Z2Nat.id by lia.
    cbn [sum fold_right].
    set (R := sum (count_from (Z.to_nat (n - g)) 1) (fun t => of_Z (cost g (g + t)) * x (g + t)%Z)).
    set (L := sum (count_from (Z.to_nat g) 1) (fun t => of_Z (cost g (0 + g - t)) * x (0 + g - t)%Z)).
    assert (HR : sum (count_from (Z.to_nat (n - g)) 1) (fun t => of_Z (2 * (S * f t - P) + spared (n - g) t) * x (g + t)%Z) <= R).
    { apply sum_le. intros t Ht. apply in_count_from in Ht.
      match goal with |- of_Z ?p * ?y <= of_Z ?q * ?y => replace (of_Z p * y) with (y * of_Z p) by ring; replace (of_Z q * y) with (y * of_Z q) by ring end.
      apply mul_le_l; [apply Hpos; lia|]. apply (of_Z_le F). replace (Z.abs (g - (g + t))) with t by lia. unfold spared.
      specialize (Hfull t ltac:(lia)).
      unfold end_of. replace (n - (g + t))%Z with (n - g - t)%Z by lia.
      destruct (n - g - t <? v)%Z; destruct (g + t <? v)%Z; nia. }
    assert (HL : sum (count_from (Z.to_nat g) 1) (fun t => of_Z (2 * (S * f t - P) + spared g t) * x (g - t)%Z) <= L).
    { apply sum_le. intros t Ht. apply in_count_from in Ht. rewrite !Z.add_0_l.
      match goal with |- of_Z ?p * ?y <= of_Z ?q * ?y => replace (of_Z p * y) with (y * of_Z p) by ring; replace (of_Z q * y) with (y * of_Z q) by ring end.
      apply mul_le_l; [apply Hpos; lia|]. apply (of_Z_le F). replace (Z.abs (g - (g - t))) with t by lia. unfold spared.
      specialize (Hfull t ltac:(lia)).
      unfold end_of. destruct (n - (g - t) <? v)%Z; destruct (g - t <? v)%Z; nia. }
    rewrite Z.sub_diag. change (Z.abs 0) with 0%Z. rewrite Hstart.
    replace (of_Z (2 * (S * 0 - P) + 2 * a * (C + K * 0) * end_of g) * x g)
      with (of_Z (spared (n - g) 0 - P) * x g + of_Z (spared g 0 - P) * x g).
    2:{ replace (of_Z (spared (n - g) 0 - P) * x g + of_Z (spared g 0 - P) * x g)
          with (of_Z ((spared (n - g) 0 - P) + (spared g 0 - P)) * x g) by (rewrite (of_Z_add F); ring).
        do 2 f_equal. unfold spared, end_of. rewrite Hstart, !Z.sub_0_r. destruct (n - g <? v)%Z; destruct (g <? v)%Z; lia. }
    apply sub_le in HR, HL. pose proof (add_nonneg F _ _ HR HL) as Hboth. apply le_sub.
    match goal with |- 0 <= ?e => match type of Hboth with 0 <= ?h => replace e with h by ring end end. exact Hboth.
  Qed.

  Lemma ends_total : total (range (n + 1)) end_of = (2 * v)%Z.
  Proof.
    assert (Hconst : forall m i b, total (count_from m i) (fun _ => b) = (Z.of_nat m * b)%Z) by (intros; apply total_const).
    unfold end_of. rewrite total_add. unfold range.
    replace (total (count_from (Z.to_nat (n + 1)) 0) (fun i => if (n - i <? v)%Z then 1 else 0)%Z) with v.
    - replace (Z.to_nat (n + 1)) with (Z.to_nat v + Z.to_nat (n + 1 - v))%nat by lia.
      rewrite count_from_app, total_app.
      rewrite (total_ext _ (count_from (Z.to_nat v) 0) _ (fun _ => 1%Z))
        by (intros i Hi; apply in_count_from in Hi; replace (i <? v)%Z with true by (symmetry; apply Z.ltb_lt; lia); reflexivity).
      rewrite (total_ext _ (count_from (Z.to_nat (n + 1 - v)) _) _ (fun _ => 0%Z))
        by (intros i Hi; apply in_count_from in Hi; replace (i <? v)%Z with false by (symmetry; apply Z.ltb_ge; lia); reflexivity).
      rewrite !Hconst. lia.
    - replace (Z.to_nat (n + 1)) with (Z.to_nat (n + 1 - v) + Z.to_nat v)%nat by lia.
      rewrite count_from_app, total_app.
      rewrite (total_ext _ (count_from (Z.to_nat v) _) _ (fun _ => 1%Z))
        by (intros i Hi; apply in_count_from in Hi; replace (n - i <? v)%Z with true by (symmetry; apply Z.ltb_lt; lia); reflexivity).
      rewrite (total_ext _ (count_from (Z.to_nat (n + 1 - v)) 0) _ (fun _ => 0%Z))
        by (intros i Hi; apply in_count_from in Hi; replace (n - i <? v)%Z with false by (symmetry; apply Z.ltb_ge; lia); reflexivity).
      rewrite !Hconst. lia.
  Qed.

  Hypothesis HS : (0 <= S)%Z.
  Hypothesis HK : (0 <= S + 2 * a * K)%Z.

  Theorem side_bound : forall (E : F), of_Z a * E <= of_Z D -> forall near : Z -> Z -> bool,
    (forall y z, (0 <= y <= n)%Z -> (0 <= z <= n)%Z -> within v y z = true -> near y z = true) ->
    forall O (M : list O) column guess V (loss : Z -> Z -> Z),
    (forall i, In i (range (n + 1)) -> sum M (fun o => column o i) = 1) ->
    all_private F Z (range (n + 1)) near (fun _ _ => E) O column M ->
    (forall g i, (0 <= i <= n)%Z -> (f (Z.abs (Z.max 0 (Z.min g n) - i)) <= loss g i)%Z) ->
    (forall i, In i (range (n + 1)) -> sum M (fun o => of_Z (loss (guess o) i) * column o i) <= V) ->
    of_Z ((n + 1) * P - 2 * v * a * C) <= of_Z ((n + 1) * S + 2 * v * a * K) * V.
  Proof.
    intros E HE near Hnear O M column guess V loss Hrows Hpriv Hloss HV.
    set (at_ o := Z.max 0 (Z.min (guess o) n)).
    assert (Hcolumn : forall o, In o M -> 0 <= sum (range (n + 1)) (fun i => of_Z (cost (at_ o) i) * column o i)).
    { intros o Ho. destruct (Hpriv o Ho) as [Hpos Hratio]. apply column_floor; [unfold at_; lia | intros; apply Hpos, in_range; lia |].
      intros y z Hy Hz Hyz. destruct (Z.eq_dec y z) as [->|Hne].
      - replace (of_Z a * column o z) with (column o z * of_Z a) by ring.
        replace (of_Z D * column o z) with (column o z * of_Z D) by ring.
        apply mul_le_l; [apply Hpos, in_range; lia | now apply (of_Z_le F)].
      - apply (le_trans F _ (of_Z a * (E * column o z))).
        + apply mul_le_l; [apply of_Z_nonneg; lia|]. apply Hratio; try (apply in_range; lia).
          apply Hnear; try lia. unfold within. apply andb_true_intro. split; [apply negb_true_iff, Z.eqb_neq; lia | apply Z.leb_le; lia].
        + replace (of_Z a * (E * column o z)) with (column o z * (of_Z a * E)) by ring.
          replace (of_Z D * column o z) with (column o z * of_Z D) by ring.
          apply mul_le_l; [apply Hpos, in_range; lia | exact HE]. }
    apply (sum_nonneg F) in Hcolumn. rewrite sum_swap in Hcolumn.
    (* Under each answer all outputs together lose at most V. *)
    assert (Hrow : sum (range (n + 1)) (fun i => sum M (fun o => of_Z (cost (at_ o) i) * column o i))
      <= sum (range (n + 1)) (fun i => of_Z (2 * a * C * end_of i - 2 * P) + of_Z (2 * S + 2 * a * K * end_of i) * V)).
    { apply sum_le. intros i Hi. pose proof Hi as Hin. apply in_range in Hin.
      rewrite (sum_ext F _ M _ (fun o => of_Z (2 * a * C * end_of i - 2 * P) * column o i
        + of_Z (2 * S + 2 * a * K * end_of i) * (of_Z (f (Z.abs (at_ o - i))) * column o i))).
      2:{ intros o _. match goal with |- of_Z ?c * _ = of_Z ?p * _ + of_Z ?q * (of_Z ?r * _) =>
            replace c with (p + q * r)%Z by ring end. rewrite (of_Z_add F), (of_Z_mul F (2 * S + _)). ring. }
      rewrite sum_add, !sum_mul, (Hrows i Hi). apply add_le.
      - match goal with |- ?x * 1 <= ?x => replace (x * 1) with x by ring end. apply (le_refl F).
      - apply mul_le_l.
        + apply of_Z_nonneg. unfold end_of. destruct (n - i <? v)%Z; destruct (i <? v)%Z; nia.
        + apply (le_trans F _ (sum M (fun o => of_Z (loss (guess o) i) * column o i))); [|now apply HV].
          apply sum_le. intros o Ho. destruct (Hpriv o Ho) as [Hpos _].
          replace (of_Z (f (Z.abs (at_ o - i))) * column o i) with (column o i * of_Z (f (Z.abs (at_ o - i)))) by ring.
          replace (of_Z (loss (guess o) i) * column o i) with (column o i * of_Z (loss (guess o) i)) by ring.
          apply mul_le_l; [now apply Hpos|]. apply (of_Z_le F). apply Hloss; lia. }
    pose proof (le_trans F _ _ _ Hcolumn Hrow) as Hall. rewrite sum_add in Hall.
    assert (Hfirst : sum (range (n + 1)) (fun i => of_Z (2 * a * C * end_of i - 2 * P)) = of_Z (2 * (2 * v * a * C - (n + 1) * P))).
    { rewrite <- sum_of_Z. f_equal.
      rewrite (total_ext _ _ _ (fun i => (2 * a * C) * end_of i + (- (2 * P)) * 1)%Z) by (intros; ring).
      rewrite total_add, !total_times, (total_one (n + 1)) by lia.
      change (total (range (n + 1)) (fun i => end_of i)) with (total (range (n + 1)) end_of). rewrite ends_total. ring. }
    assert (Hsecond : sum (range (n + 1)) (fun i => of_Z (2 * S + 2 * a * K * end_of i) * V)
      = of_Z (2 * ((n + 1) * S + 2 * v * a * K)) * V).
    { rewrite sum_const. do 2 f_equal.
      rewrite (total_ext _ _ _ (fun i => (2 * S) * 1 + (2 * a * K) * end_of i)%Z) by (intros; ring).
      rewrite total_add, !total_times, (total_one (n + 1)) by lia.
      change (total (range (n + 1)) (fun i => end_of i)) with (total (range (n + 1)) end_of). rewrite ends_total. ring. }
    rewrite Hfirst, Hsecond in Hall. apply (le_cancel F 2); [lia|]. apply le_sub.
    match goal with |- 0 <= ?e => match type of Hall with 0 <= ?g => replace e with g end end; [exact Hall|].
    rewrite !(of_Z_mul F 2), !of_Z_sub. ring.
  Qed.
End Side.

(** ** The multipliers of each loss

    G is a polynomial in t, or for losses that count steps in ⌈t/v⌉. The numbers are hints, which the
    judge tests. *)
Record duals := {
  base : Z; slope : Z; bend : Z;             (* G = base + slope·q + bend·q² *)
  gain : Z; paid : Z;                        (* S and P *)
  inside : Z;                                (* c *)
  pool : Z; rate : Z;                        (* C and K *)
  part : Z; split : Z                        (* 2·split·q <= split² + q², used [part] times *)
}.
Definition clock (k : loss_name) (v t : Z) : Z := match k with Unequal | Steps => up t v | _ => t end.
Definition stride (k : loss_name) (v : Z) : Z := match k with Unequal | Steps => 1 | _ => v end.
Definition flow_at (d : duals) (q : Z) : Z := base d + slope d * q + bend d * (q * q).
Definition flow (k : loss_name) (v : Z) (d : duals) (t : Z) : Z := flow_at d (clock k v t).
(** Σ G(t) over t = 1 … m, m <= v. *)
Definition flow_sum (k : loss_name) (d : duals) (m : Z) : Z :=
  match k with
  | Unequal | Steps => m * flow_at d 1
  | _ => m * base d + slope d * ball Gaps 1 m + bend d * ball Squares 1 m
  end.

Definition check_duals (k : loss_name) (v a D : Z) (d : duals) : bool :=
  let w := stride k v in
  let c := inside d in
  let paying := flow_sum k d v - flow_sum k d c in
  let if_kind (x : bool) := if x then gain d else 0 in
  (0 <? a) && (a <? D) && (1 <=? v) && (0 <=? slope d) && (0 <=? bend d) && (0 <=? c) && (c <? v) &&
  (0 <=? gain d) && (0 <=? paid d) && (0 <=? part d) &&
  (D * base d =? if_kind match k with Unequal => true | _ => false end - paid d
    + a * (base d + slope d * w + bend d * (w * w))) &&
  (D * slope d =? if_kind match k with Steps | Gaps => true | _ => false end + a * (slope d + 2 * w * bend d)) &&
  (D * bend d =? if_kind match k with Squares => true | _ => false end + a * bend d) &&
  ((c =? 0) || (flow k v d c <=? 0)) && (0 <=? flow k v d (c + 1)) &&
  match k with Unequal | Steps => c =? 0 | _ => true end &&
  (0 <? paying) && (paid d - 2 * D * flow_sum k d c <=? 2 * a * paying) &&
  (paid d <=? 2 * a * pool d) && (0 <=? gain d + 2 * a * rate d) &&
  (paid d <=? a * pool d + (gain d + a * rate d)) &&
  match k with
  | Unequal => base d <=? pool d + rate d
  | Steps | Gaps => (base d + slope d * w <=? pool d) && (slope d <=? rate d)
  | Squares => (flow_at d w + part d * (split d * split d) <=? pool d) && (bend d + part d <=? rate d)
      && (slope d + 2 * bend d * w <=? 2 * part d * split d)
  end.

Section Duals.
  Variables (k : loss_name) (v a D : Z) (d : duals).
  Hypothesis checked : check_duals k v a D d = true.
  Notation G := (flow k v d).
  Notation w := (stride k v).

  Ltac use_check :=
    let C := fresh "Hcheck" in
    pose proof checked as C; unfold check_duals in C; cbv zeta in C;
    repeat (apply andb_prop in C as [C ?]);
    repeat match goal with
      | B : (_ <=? _) = true |- _ => apply Z.leb_le in B
      | B : (_ <? _) = true |- _ => apply Z.ltb_lt in B
      | B : (_ =? _) = true |- _ => apply Z.eqb_eq in B end.

  Lemma duals_range : 0 < a < D /\ 1 <= v /\ 0 <= inside d < v /\ 0 <= gain d /\ 0 <= paid d /\ 0 <= slope d /\ 0 <= bend d.
  Proof. use_check. lia. Qed.

  Lemma clock_step : forall t, clock k v (t + v) = clock k v t + w.
  Proof. destruct duals_range as [_ [Hv _]]. intros t. destruct k; cbn [clock stride]; try apply up_step; auto; lia. Qed.
  Lemma clock_rises : forall s t, 0 <= s <= t -> 0 <= clock k v s <= clock k v t.
  Proof. destruct duals_range as [_ [Hv _]]. intros s t H. destruct k; cbn [clock]; try apply up_rises; auto; lia. Qed.

  Lemma flow_rises : forall s t, 0 <= s <= t -> G s <= G t.
  Proof.
    intros s t H. destruct duals_range as [_ [_ [_ [_ [_ [Hs Hb]]]]]].
    pose proof (clock_rises s t H) as Hq. unfold flow, flow_at.
    assert (clock k v s * clock k v s <= clock k v t * clock k v t) by (apply Z.mul_le_mono_nonneg; lia).
    assert (slope d * clock k v s <= slope d * clock k v t) by (apply Z.mul_le_mono_nonneg_l; lia).
    assert (bend d * (clock k v s * clock k v s) <= bend d * (clock k v t * clock k v t)) by (apply Z.mul_le_mono_nonneg_l; lia).
    lia.
  Qed.

  Lemma flow_steps : forall t, 1 <= t -> D * G t - a * G (t + v) = gain d * phi k v t - paid d.
  Proof.
    intros t Ht. unfold flow, flow_at. rewrite clock_step. set (q := clock k v t). use_check.
    replace (D * (base d + slope d * q + bend d * (q * q)) - a * (base d + slope d * (q + w) + bend d * ((q + w) * (q + w))))
      with ((D * base d - a * (base d + slope d * w + bend d * (w * w)))
        + (D * slope d - a * (slope d + 2 * w * bend d)) * q + (D * bend d - a * bend d) * (q * q)) by ring.
    repeat match goal with E : D * _ = _ |- _ => rewrite E end.
    unfold q. destruct k; cbn [phi clock]; try ring.
    destruct (Z.eqb_spec t 0); [lia | ring].
  Qed.

  Lemma flow_total : forall m, 0 <= m <= v -> total (count_from (Z.to_nat m) 1) G = flow_sum k d m.
  Proof.
    intros m Hm. destruct duals_range as [_ [Hv _]].
    assert (Hpoly : total (count_from (Z.to_nat m) 1) (fun t => flow_at d t)
      = m * base d + slope d * ball Gaps 1 m + bend d * ball Squares 1 m).
    { unfold flow_at. rewrite (total_ext _ _ _ (fun t => (base d * 1 + slope d * phi Gaps 1 t) + bend d * phi Squares 1 t))
        by (intros; cbn [phi]; ring).
      rewrite !total_add, !total_times, total_const.
      rewrite (ball_range Gaps 1 ltac:(lia) _ 0 ltac:(lia)), (ball_range Squares 1 ltac:(lia) _ 0 ltac:(lia)).
      rewrite !ball_zero, Z.add_0_l, Z2Nat.id by lia. lia. }
    assert (Hflat : k = Unequal \/ k = Steps -> total (count_from (Z.to_nat m) 1) G = m * flow_at d 1).
    { intros Hk. rewrite (total_ext _ _ _ (fun _ => flow_at d 1)).
      - now rewrite total_const, Z2Nat.id by lia.
      - intros t Ht. apply in_count_from in Ht. unfold flow. f_equal.
        destruct Hk as [-> | ->]; cbn [clock]; apply up_first; lia. }
    unfold flow_sum. destruct k; auto; exact Hpoly.
  Qed.

  Lemma payers_total : total (count_from (Z.to_nat (v - inside d)) (inside d + 1)) G = flow_sum k d v - flow_sum k d (inside d).
  Proof.
    destruct duals_range as [_ [Hv [Hc _]]].
    rewrite <- (flow_total v), <- (flow_total (inside d)) by lia.
    replace (Z.to_nat v) with (Z.to_nat (inside d) + Z.to_nat (v - inside d))%nat by lia.
    rewrite count_from_app, total_app, Z2Nat.id by lia. replace (1 + inside d) with (inside d + 1) by lia. lia.
  Qed.

  Lemma flow_end : forall t, 1 <= t -> G (t + v) <= pool d + rate d * phi k v t.
  Proof.
    intros t Ht. destruct duals_range as [Ha [Hv [_ [_ [_ [Hs Hb]]]]]].
    unfold flow, flow_at. rewrite clock_step. pose proof (clock_rises 1 t ltac:(lia)) as Hq.
    assert (Hone : clock k v 1 = 1) by (destruct k; cbn [clock]; try apply up_first; lia). rewrite Hone in Hq.
    use_check. unfold flow_at in *. destruct k; cbn [phi clock stride] in *.
    - assert (bend d = 0) by nia. assert (slope d = 0) by nia.
      destruct (Z.eqb_spec t 0); [lia|]. nia.
    - assert (bend d = 0) by nia. nia.
    - assert (bend d = 0) by nia. nia.
    - repeat match goal with H : _ && _ = true |- _ => apply andb_prop in H as [? ?] end.
      repeat match goal with H : (_ <=? _) = true |- _ => apply Z.leb_le in H end.
      (* part·(split - t)² is not negative *)
      pose proof (Z.square_nonneg (split d - t)) as Hsq.
      assert (0 <= part d * ((split d - t) * (split d - t))) by (apply Z.mul_nonneg_nonneg; lia).
      assert ((slope d + 2 * bend d * v) * t <= 2 * part d * split d * t) by (apply Z.mul_le_mono_nonneg_r; lia).
      assert ((bend d + part d) * (t * t) <= rate d * (t * t)) by (apply Z.mul_le_mono_nonneg_r; nia). lia.
  Qed.

  Lemma flow_above : forall t, inside d < t -> 0 <= G t.
  Proof.
    intros t Ht. destruct duals_range as [_ [_ [Hc _]]]. pose proof (flow_rises (inside d + 1) t ltac:(lia)).
    use_check. lia.
  Qed.
  Lemma flow_below : forall t, 1 <= t <= inside d -> G t <= 0.
  Proof.
    intros t Ht. pose proof (flow_rises t (inside d) ltac:(lia)). use_check.
    match goal with H : _ || _ = true |- _ => apply orb_prop in H as [H|H] end;
      [match goal with H : (inside d =? 0) = true |- _ => apply Z.eqb_eq in H end; lia|].
    match goal with H : (_ <=? _) = true |- _ => apply Z.leb_le in H end. lia.
  Qed.

  Lemma end_near : forall t, 1 <= t -> paid d - gain d * phi k v t <= a * (pool d + rate d * phi k v t).
  Proof.
    intros t Ht. destruct duals_range as [Ha [Hv [_ [Hg _]]]].
    pose proof (phi_rises k v Hv 1 t ltac:(lia)) as Hp. rewrite phi_one in Hp by assumption. use_check.
    assert (0 <= gain d + a * rate d) by lia.
    assert ((gain d + a * rate d) * 1 <= (gain d + a * rate d) * phi k v t) by (apply Z.mul_le_mono_nonneg_l; lia). lia.
  Qed.
End Duals.

(** "No private mechanism for answers 0 … n has a worst loss below ((n+1)·P - 2v·a·C) / ((n+1)·S + 2v·a·K)",
    whatever its outputs. *)
Definition floor_top (d : duals) (v a n : Z) : Z := (n + 1) * paid d - 2 * v * a * pool d.
Definition floor_bottom (d : duals) (v a n : Z) : Z := (n + 1) * gain d + 2 * v * a * rate d.

Theorem line_floor : forall (F : numbers) k v a D d n, check_duals k v a D d = true -> v <= n + 1 ->
  forall E : F, le (mul (of_Z a) E) (of_Z D) -> forall near : Z -> Z -> bool,
  (forall y z, 0 <= y <= n -> 0 <= z <= n -> within v y z = true -> near y z = true) ->
  forall O (M : list O) column guess V (loss : Z -> Z -> Z),
  (forall i, In i (range (n + 1)) -> sum M (fun o => column o i) = one) ->
  all_private F Z (range (n + 1)) near (fun _ _ => E) O column M ->
  (forall g i, 0 <= i <= n -> phi k v (Z.abs (Z.max 0 (Z.min g n) - i)) <= loss g i) ->
  (forall i, In i (range (n + 1)) -> le (sum M (fun o => mul (of_Z (loss (guess o) i)) (column o i))) V) ->
  le (of_Z (floor_top d v a n)) (mul (of_Z (floor_bottom d v a n)) V).
Proof.
  intros F k v a D d n Hd Hvn E HE near Hnear O M column guess V loss Hrows Hpriv Hloss HV.
  destruct (duals_range k v a D d Hd) as [Ha [Hv [Hc [Hg [Hp _]]]]].
  pose proof (flow_total k v a D d Hd (inside d) ltac:(lia)) as Hdeficits.
  pose proof (payers_total k v a D d Hd) as Hpayers.
  assert (Hchecks : 0 < flow_sum k d v - flow_sum k d (inside d)
    /\ paid d - 2 * D * flow_sum k d (inside d) <= 2 * a * (flow_sum k d v - flow_sum k d (inside d))
    /\ paid d <= 2 * a * pool d /\ 0 <= gain d + 2 * a * rate d).
  { pose proof Hd as H. unfold check_duals in H. cbv zeta in H. repeat (apply andb_prop in H as [H ?]).
    repeat match goal with
      | H : (_ <=? _) = true |- _ => apply Z.leb_le in H
      | H : (_ <? _) = true |- _ => apply Z.ltb_lt in H end. tauto. }
  destruct Hchecks as [H1 [H2 [H3 H4]]].
  unfold floor_top, floor_bottom.
  apply (side_bound F v a D (gain d) (paid d) (inside d) (pool d) (rate d) (flow k v d) (phi k v))
    with (E := E) (near := near) (M := M) (column := column) (guess := guess) (loss := loss); auto; try lia.
  - now apply (flow_steps k v a D d).
  - intros. now apply (flow_below k v a D d Hd).
  - intros. now apply (flow_above k v a D d Hd).
  - now apply phi_zero.
  - now apply (end_near k v a D d).
  - now apply (flow_end k v a D d).
  - intros t Ht. destruct (Z.eq_dec t 0) as [->|Hne]; [rewrite phi_zero by assumption; nia|].
    pose proof (flow_end k v a D d Hd t ltac:(lia)). pose proof (flow_above k v a D d Hd (t + v) ltac:(lia)). lia.
Qed.

(** ** The loss of noise that is held between the ends

    Under add-remove two sums above (u-1)·v are 2 apart (Ends.v). [last] is the last answer up to which
    all that are at most v apart are neighbours. *)
Definition last_joined (q : question) (r : relation) (n : Z) : Z :=
  match q, r with Sum u v, AddRemove => if v =? 1 then n else (u - 1) * v | _, _ => n end.
Definition apart (k : loss_name) (v last g i : Z) : Z :=
  match k with
  | Steps => if (last <? g) && (last <? i) && negb (g =? i) then 2 else phi Steps v (Z.abs (g - i))
  | _ => phi k v (Z.abs (g - i))
  end.
Definition to_answer (n y : Z) : Z := Z.max 0 (Z.min y n).

(** Σ φ·(w - lowest) over layers of v points each, from the point after [at] on. *)
Fixpoint layered (k : loss_name) (v at_ lowest : Z) (ws : list Z) : Z :=
  match ws with
  | [] => 0
  | w :: rest => (w - lowest) * (ball k v (at_ + v) - ball k v at_) + layered k v (at_ + v) lowest rest
  end.
(** The same over one side of an answer, and over the points 1 … m, m <= r + v, without a loss. *)
Definition side_top (k : loss_name) (f : noise) : Z :=
  let lowest := floor f in (w0 f - lowest) * ball k (width f) (core f) + layered k (width f) (core f) lowest (later f).
Definition near_top (f : noise) (m : Z) : Z :=
  let lowest := floor f in
  (w0 f - lowest) * Z.min m (core f) + (hd 0 (later f) - lowest) * Z.max 0 (m - core f).

Definition worst_top (k : loss_name) (f : noise) (last : Z) : Z :=
  match k, last =? people f with
  | Steps, false =>
      let steps := side_top Steps f in
      Z.max (2 * steps) (Z.max (2 * side_top Unequal f + steps + near_top f (width f - 2))
        (steps + near_top f (width f - 1)))
  | _, _ => 2 * side_top k f
  end.
Definition largest (k : loss_name) (f : noise) : Z :=
  let far := 2 * (people f + reach f) in match k with Unequal => 1 | Squares => far * far | _ => far end.
(** What no answer loses more than, times 2^bits; every point weighs the floor w_T at least. *)
Definition loss_top (k : loss_name) (f : noise) (last : Z) : Z := worst_top k f last + floor f * box f * largest k f.

Section Loss.
  Variables (f : noise) (l : level).
  Hypothesis checked : check_noise f l = true.
  Notation v := (width f).

  Lemma wide : 1 <= v /\ 0 <= core f < v.
  Proof. destruct (parts f l checked) as [_ [Hcore _]]. lia. Qed.

  Lemma reach_is : reach f = core f + Z.of_nat (length (later f)) * v.
  Proof. reflexivity. Qed.

  Lemma excess_nonneg : forall z, 0 <= excess f z.
  Proof.
    intros z. pose proof (depth_nonneg f l checked z) as Hd. pose proof (T_pos f) as HT.
    pose proof (lev_fall f l checked (depth f z) (Z.max (depth f z) (T f)) ltac:(lia)) as Hfall.
    assert (Hlast : lev f (Z.max (depth f z) (T f)) = floor f).
    { unfold lev, level_from. replace (Z.min (Z.max (depth f z) (T f)) (T f)) with (Z.min (T f) (T f)) by lia.
      apply (level_floor f (w0 f)). }
    unfold excess. lia.
  Qed.

  Lemma total_less : forall A (L : list A) (g h : A -> Z), (forall b, In b L -> g b <= h b) -> total L g <= total L h.
  Proof.
    induction L as [|b L IH]; intros g h H; [unfold total; simpl; lia|]. rewrite !total_cons.
    pose proof (H b (or_introl eq_refl)). specialize (IH g h (fun b' Hb => H b' (or_intror Hb))). lia.
  Qed.

  (** *** One side *)
  Lemma layered_total : forall k ws (e : Z -> Z) at_ lowest, 0 <= at_ ->
    (forall j, (j < length ws)%nat -> forall z, at_ + Z.of_nat j * v < z <= at_ + (Z.of_nat j + 1) * v ->
       e z = nth j ws 0 - lowest) ->
    total (count_from (length ws * Z.to_nat v) (at_ + 1)) (fun z => e z * phi k v z) = layered k v at_ lowest ws.
  Proof.
    destruct wide as [Hv _]. intros k. induction ws as [|w ws IH]; intros e at_ lowest Hat He; [reflexivity|].
    cbn [length layered]. replace (S (length ws) * Z.to_nat v)%nat with (Z.to_nat v + length ws * Z.to_nat v)%nat by lia.
    rewrite count_from_app, total_app. f_equal.
    - rewrite (total_ext _ _ _ (fun z => (w - lowest) * phi k v z)).
      + rewrite total_times, ball_range, Z2Nat.id by lia. reflexivity.
      + intros z Hz. apply in_count_from in Hz. specialize (He 0%nat ltac:(simpl; lia) z). cbn [nth] in He.
        rewrite He by lia. reflexivity.
    - replace (at_ + 1 + Z.of_nat (Z.to_nat v)) with (at_ + v + 1) by lia. apply IH; [lia|].
      intros j Hj z Hz. apply (He (S j)); [simpl; lia|]. lia.
  Qed.

  Lemma side_total : forall k, total (count_from (Z.to_nat (reach f)) 1) (fun z => excess f z * phi k v z) = side_top k f.
  Proof.
    intros k. destruct wide as [Hv Hc]. pose proof (T_pos f) as HT. unfold side_top. cbv zeta.
    replace (Z.to_nat (reach f)) with (Z.to_nat (core f) + length (later f) * Z.to_nat v)%nat
      by (rewrite reach_is; rewrite Z2Nat.inj_add, Z2Nat.inj_mul, Nat2Z.id by nia; lia).
    rewrite count_from_app, total_app, Z2Nat.id by lia. f_equal.
    - rewrite (total_ext _ _ _ (fun z => (w0 f - floor f) * phi k v z)).
      + rewrite total_times, (ball_range k v Hv _ 0), ball_zero, Z2Nat.id by lia. now rewrite Z.add_0_l, Z.sub_0_r.
      + intros z Hz. apply in_count_from in Hz. rewrite (excess_core f l checked) by lia. reflexivity.
    - replace (1 + core f) with (core f + 1) by lia. apply layered_total; [lia|].
      intros j Hj z Hz. unfold excess. rewrite (depth_is f l checked (Z.of_nat (S j))) by nia.
      unfold lev, level_from. rewrite Z.min_l by (unfold T; lia). rewrite Nat2Z.id. reflexivity.
  Qed.

  Lemma near_total : forall m, 0 <= m < v -> total (count_from (Z.to_nat m) 1) (excess f) = near_top f m.
  Proof.
    intros m Hm. destruct wide as [Hv Hc]. pose proof (later_some f) as Hsome. unfold near_top. cbv zeta.
    replace (Z.to_nat m) with (Z.to_nat (Z.min m (core f)) + Z.to_nat (Z.max 0 (m - core f)))%nat by lia.
    rewrite count_from_app, total_app. f_equal.
    - rewrite (total_ext _ _ _ (fun _ => w0 f - floor f)).
      + rewrite total_const, Z2Nat.id by lia. lia.
      + intros z Hz. apply in_count_from in Hz. apply (excess_core f l checked). lia.
    - rewrite (total_ext _ _ _ (fun _ => hd 0 (later f) - floor f)).
      + rewrite total_const, Z2Nat.id by lia. lia.
      + intros z Hz. apply in_count_from in Hz. unfold excess. rewrite (depth_is f l checked 1) by lia.
        unfold lev, level_from. pose proof (T_pos f). rewrite Z.min_l by lia. change (Z.to_nat 1) with 1%nat.
        cbn [nth]. now destruct (later f).
  Qed.

  (** *** Around an answer *)
  Lemma around_answer : forall (h : Z -> Z) x, 0 <= x <= people f -> h 0 = 0 ->
    total (points f) (fun y => excess f (y - x) * h (y - x))
    = total (count_from (Z.to_nat (reach f)) 1) (fun z => excess f z * h (- z))
      + total (count_from (Z.to_nat (reach f)) 1) (fun z => excess f z * h z).
  Proof.
    intros h x Hx H0. destruct wide as [Hv Hc]. pose proof (T_pos f) as HT. set (g := fun z => excess f z * h z).
    assert (Hr : 0 <= reach f) by (unfold reach; nia).
    unfold points. rewrite (total_shift _ _ x g).
    replace (Z.to_nat (box f)) with (Z.to_nat x + (Z.to_nat (reach f) + (1 + (Z.to_nat (reach f) + Z.to_nat (people f - x)))))%nat
      by (unfold box; lia).
    rewrite !count_from_app, !total_app.
    rewrite (total_ext _ (count_from (Z.to_nat x) _) _ (fun _ => 0))
      by (intros z Hz; apply in_count_from in Hz; unfold g; rewrite (excess_beyond f l checked) by lia; reflexivity).
    rewrite (total_ext _ (count_from (Z.to_nat (people f - x)) _) _ (fun _ => 0))
      by (intros z Hz; apply in_count_from in Hz; unfold g; rewrite (excess_beyond f l checked) by lia; reflexivity).
    rewrite !total_const.
    replace (- reach f - x + Z.of_nat (Z.to_nat x)) with (- (1 + Z.of_nat (Z.to_nat (reach f))) + 1) by lia.
    replace (- (1 + Z.of_nat (Z.to_nat (reach f))) + 1 + Z.of_nat (Z.to_nat (reach f))) with 0 by lia.
    cbn [count_from]. change (0 + Z.of_nat 1) with 1. rewrite total_cons. change (total [] g) with 0.
    replace (g 0) with 0 by (unfold g; rewrite H0; lia).
    assert (Hback : forall n, total (count_from n (- (1 + Z.of_nat n) + 1)) g = total (count_from n 1) (fun z => excess f z * h (- z))).
    { intros n. transitivity (total (count_from n 1) (fun z => g (- z)));
        [|apply total_ext; intros z _; unfold g; now rewrite (excess_even f)].
      enough (Hany : forall m i, total (count_from m (- (i + Z.of_nat m) + 1)) g = total (count_from m i) (fun z => g (- z)))
        by apply Hany.
      generalize g. clear. intros g. induction m as [|n IH]; intros i; [reflexivity|].
      replace (S n) with (n + 1)%nat at 1 by lia. rewrite count_from_app, total_app. cbn [count_from].
      rewrite !total_cons. replace (- (i + Z.of_nat (S n)) + 1 + Z.of_nat n) with (- i) by lia.
      replace (- (i + Z.of_nat (S n)) + 1) with (- (i + 1 + Z.of_nat n) + 1) by lia.
      rewrite IH. unfold total at 2. simpl. lia. }
    rewrite Hback. fold g. lia.
  Qed.

  (** A cost by the noise that is above what is lost, and what it sums to. *)
  Lemma loss_by : forall k last (h : Z -> Z) x, 0 <= x <= people f -> h 0 = 0 ->
    (forall y, In y (points f) -> apart k v last (to_answer (people f) y) x <= h (y - x)) ->
    (forall y, In y (points f) -> apart k v last (to_answer (people f) y) x <= largest k f) ->
    total (points f) (fun y => W f x y * apart k v last (to_answer (people f) y) x)
    <= total (count_from (Z.to_nat (reach f)) 1) (fun z => excess f z * h (- z))
       + total (count_from (Z.to_nat (reach f)) 1) (fun z => excess f z * h z) + floor f * box f * largest k f.
  Proof.
    intros k last h x Hx H0 Hh Hmost. destruct (parts f l checked) as [_ [_ [_ [_ [_ [_ [Hfloor _]]]]]]].
    rewrite <- (around_answer h x Hx H0).
    assert (Hbox : total (points f) (fun _ => floor f * largest k f) = floor f * box f * largest k f).
    { unfold points. destruct wide as [Hv Hc]. pose proof (T_pos f). rewrite total_const, Z2Nat.id; [ring|].
      destruct (parts f l checked) as [Hp _]. unfold box, reach. nia. }
    rewrite <- Hbox, <- total_add. apply total_less. intros y Hy. specialize (Hh y Hy). specialize (Hmost y Hy).
    unfold W. fold (lev f (depth f (y - x))).
    replace (lev f (depth f (y - x))) with (excess f (y - x) + floor f) by (unfold excess; lia).
    pose proof (excess_nonneg (y - x)) as He. destruct (y =? x) eqn:E.
    - apply Z.eqb_eq in E. subst y. replace (x - x) with 0 in * by lia.
      assert (Hnone : apart k v last (to_answer (people f) x) x = 0).
      { replace (to_answer (people f) x) with x by (unfold to_answer; lia). unfold apart.
        replace (Z.abs (x - x)) with 0 by lia. rewrite phi_zero, Z.eqb_refl, andb_false_r. now destruct k. }
      rewrite Hnone in *. nia.
    - nia.
  Qed.

  Lemma lattice_sum : forall k, total (count_from (Z.to_nat (reach f)) 1) (fun z => excess f z * phi k v (Z.abs (- z)))
      + total (count_from (Z.to_nat (reach f)) 1) (fun z => excess f z * phi k v (Z.abs z)) = 2 * side_top k f.
  Proof.
    intros k. replace (2 * side_top k f) with (side_top k f + side_top k f) by lia.
    apply (f_equal2 Z.add); rewrite <- side_total; apply total_ext; intros z Hz; apply in_count_from in Hz;
      do 2 f_equal; lia.
  Qed.

  Lemma beyond_last : forall s, 1 <= s <= v ->
    total (count_from (Z.to_nat (reach f)) 1) (fun z => excess f z * at_end v s (- z))
      + total (count_from (Z.to_nat (reach f)) 1) (fun z => excess f z * at_end v s z)
    = (if s <? v then 2 * side_top Unequal f else 0) + (side_top Steps f + near_top f (s - 1)).
  Proof.
    intros s Hs. destruct wide as [Hv Hc]. pose proof (T_pos f) as HT.
    assert (Hup : total (count_from (Z.to_nat (reach f)) 1) (fun z => excess f z * at_end v s z)
      = if s <? v then 2 * side_top Unequal f else 0).
    { rewrite <- side_total.
      rewrite (total_ext _ _ _ (fun z => (if s <? v then 2 else 0) * (excess f z * phi Unequal v z))).
      - rewrite total_times. destruct (s <? v); lia.
      - intros z Hz. apply in_count_from in Hz. unfold at_end. cbn [phi].
        replace (z =? 0) with false by (symmetry; apply Z.eqb_neq; lia).
        replace (0 <? z) with true by (symmetry; apply Z.ltb_lt; lia). destruct (s <? v); lia. }
    assert (Hdown : total (count_from (Z.to_nat (reach f)) 1) (fun z => excess f z * at_end v s (- z))
      = side_top Steps f + near_top f (s - 1)).
    { rewrite <- side_total, <- near_total by lia.
      rewrite (total_ext _ _ _ (fun z => excess f z * phi Steps v z + excess f z * (if z <? s then 1 else 0))).
      - rewrite total_add. f_equal.
        replace (Z.to_nat (reach f)) with (Z.to_nat (s - 1) + Z.to_nat (reach f - (s - 1)))%nat by (unfold reach; nia).
        rewrite count_from_app, total_app.
        rewrite (total_ext _ (count_from (Z.to_nat (s - 1)) 1) _ (excess f))
          by (intros z Hz; apply in_count_from in Hz; replace (z <? s) with true by (symmetry; apply Z.ltb_lt; lia); lia).
        rewrite (total_ext _ (count_from (Z.to_nat (reach f - (s - 1))) _) _ (fun _ => 0))
          by (intros z Hz; apply in_count_from in Hz; replace (z <? s) with false by (symmetry; apply Z.ltb_ge; lia); lia).
        rewrite total_const. lia.
      - intros z Hz. apply in_count_from in Hz. unfold at_end.
        replace (- z =? 0) with false by (symmetry; apply Z.eqb_neq; lia).
        replace (0 <? - z) with false by (symmetry; apply Z.ltb_ge; lia). rewrite Z.opp_involutive.
        destruct (Z.ltb_spec z s).
        + replace (phi Steps v z) with 1 by (symmetry; cbn [phi]; apply up_first; lia). lia.
        + unfold steps_to. replace (Z.abs (- z)) with z by lia. cbn [phi]. lia. }
    rewrite Hup, Hdown. lia.
  Qed.

  Lemma phi_above : forall k z, Z.abs z <= 2 * (people f + reach f) -> phi k v (Z.abs z) <= largest k f.
  Proof.
    intros k z Hz. destruct wide as [Hv _]. unfold largest. destruct k; cbn [phi].
    - destruct (Z.abs z =? 0); lia.
    - pose proof (up_bounds (Z.abs z) v ltac:(lia)). nia.
    - lia.
    - nia.
  Qed.

  Variables (q : question) (r : relation).
  Hypothesis asked : line_of q r = Some (people f, width f).
  Hypothesis several : 0 < people f.
  Notation last := (last_joined q r (people f)).

  Lemma ends_of_sum : last <> people f -> exists u, q = Sum u v /\ r = AddRemove /\ people f = u * v /\ last = inner u v.
  Proof.
    intros H. destruct q; destruct r; cbn [last_joined line_of] in *; try contradiction; try discriminate.
    inversion asked as [[Hn Hw]]. rewrite Hw in *. exists u.
    destruct (width f =? 1); [contradiction|]. now repeat split.
  Qed.

  Lemma points_bounds : forall y, In y (points f) -> - reach f <= y <= people f + reach f.
  Proof.
    intros y Hy. destruct wide as [Hv Hc]. destruct (parts f l checked) as [Hp _]. pose proof (T_pos f).
    unfold points in Hy. apply in_count_from in Hy. rewrite Z2Nat.id in Hy by (unfold box, reach; nia). unfold box in Hy. lia.
  Qed.

  (** "Held between the ends, noise loses at most the stated loss under every answer." *)
  Theorem line_loss : forall k x, 0 <= x <= people f ->
    total (points f) (fun y => W f x y * apart k v last (to_answer (people f) y) x) <= loss_top k f last.
  Proof.
    intros k x Hx. destruct wide as [Hv Hc]. pose proof (T_pos f) as HT. destruct (parts f l checked) as [Hp _].
    assert (Hr : 1 <= reach f) by (unfold reach; nia).
    assert (Hmost : forall y, In y (points f) -> apart k v last (to_answer (people f) y) x <= largest k f).
    { intros y Hy. apply points_bounds in Hy. unfold apart.
      assert (Hphi : phi k v (Z.abs (to_answer (people f) y - x)) <= largest k f) by (apply phi_above; unfold to_answer; lia).
      destruct k; auto. destruct (_ && _ && _); [unfold largest; lia | exact Hphi]. }
    assert (Hinside : (forall g, 0 <= g <= people f -> apart k v last g x = phi k v (Z.abs (g - x))) ->
      total (points f) (fun y => W f x y * apart k v last (to_answer (people f) y) x)
      <= 2 * side_top k f + floor f * box f * largest k f).
    { intros Hsame. rewrite <- lattice_sum. apply (loss_by k last (fun z => phi k v (Z.abs z))); auto; [now apply phi_zero|].
      intros y Hy. rewrite Hsame by (unfold to_answer; lia). apply phi_rises; [assumption|]. unfold to_answer. lia. }
    unfold loss_top, worst_top.
    assert (Hplain : k <> Steps -> apart k v last = fun g i => phi k v (Z.abs (g - i))) by (intros; unfold apart; destruct k; congruence).
    destruct k; try (apply Hinside; intros; now rewrite Hplain).
    destruct (last =? people f) eqn:Elast.
    - apply Z.eqb_eq in Elast. rewrite Elast in *. apply Hinside. intros g Hg. unfold apart.
      replace (people f <? g) with false by (symmetry; apply Z.ltb_ge; lia). reflexivity.
    - apply Z.eqb_neq in Elast. destruct (ends_of_sum Elast) as [u [Hq [Hrel [Hn Hlast]]]].
      assert (Hu : 1 <= u).
      { nia. }
      set (steps := side_top Steps f). set (base_ := floor f * box f * largest Steps f).
      set (sum_ := total (points f) _).
      assert (Hfar : forall g, apart Steps v last g x = far u v g x).
      { intros g. unfold apart, far. rewrite Hlast. destruct (_ && _ && _); reflexivity. }
      assert (Hheld : forall y, to_answer (people f) y = held u v y) by (intros; unfold to_answer, held; now rewrite Hn).
      assert (Hsym : forall y, far u v y x = far u v x y).
      { intros y. unfold far, steps_to. rewrite (Z.eqb_sym y x), (andb_comm (inner u v <? y)).
        replace (Z.abs (y - x)) with (Z.abs (x - y)) by lia. reflexivity. }
      destruct (Z.le_gt_cases x (inner u v)) as [Hi|Hi].
      + assert (Hle : sum_ <= 2 * steps + base_); [|lia].
        apply Hinside. intros g Hg. unfold apart.
        replace (last <? x) with false by (symmetry; apply Z.ltb_ge; lia). now rewrite andb_false_r.
      + assert (Hs : 1 <= x - inner u v <= v) by (unfold inner in *; nia). set (s := x - inner u v) in *.
        assert (Hcost : forall y, far u v (to_answer (people f) y) x <= at_end v s (y - x)).
        { intros y. rewrite Hheld, Hsym. replace x with (inner u v + s) by (unfold s; lia).
          replace y with (inner u v + s + (y - (inner u v + s))) at 1 by lia. apply held_at_end; lia. }
        destruct (Z.eq_dec s v) as [Hsv|Hsv].
        * assert (Hle : sum_ <= 0 + (steps + near_top f (v - 1)) + base_); [|lia].
          replace (0 + (steps + near_top f (v - 1))) with ((if v <? v then 2 * side_top Unequal f else 0) + (steps + near_top f (v - 1)))
            by (rewrite Z.ltb_irrefl; reflexivity).
          unfold steps. rewrite <- (beyond_last v) by lia. apply loss_by; auto.
          intros y Hy. rewrite Hfar. replace (at_end v v (y - x)) with (at_end v s (y - x)) by (now rewrite Hsv). apply Hcost.
        * assert (Hle : sum_ <= 2 * side_top Unequal f + (steps + near_top f (v - 1 - 1)) + base_);
            [|replace (v - 1 - 1) with (v - 2) in Hle by lia; lia].
          replace (2 * side_top Unequal f) with (if v - 1 <? v then 2 * side_top Unequal f else 0)
            by (replace (v - 1 <? v) with true by (symmetry; apply Z.ltb_lt; lia); reflexivity).
          unfold steps. rewrite <- (beyond_last (v - 1)) by lia. apply loss_by; auto.
          intros y Hy. rewrite Hfar. apply (Z.le_trans _ (at_end v s (y - x))); [apply Hcost|]. apply worst_end; lia.
  Qed.
End Loss.

(** ** What the judge says of noise on a line *)

(** Labels of means are multiples of 1/u. *)
Definition loss_unit (q : question) (k : loss_name) : Z :=
  match q, k with Mean u _, Gaps => u | Mean u _, Squares => u * u | _, _ => 1 end.

(** The best multipliers, nearly: c is the least for which G is not negative behind it. [most] limits the
    number that the bound of squared losses is best with. *)
Definition duals_for (k : loss_name) (v a D most c : Z) : duals :=
  let apart_ := D - a in
  let w := stride k v in
  let weighed (sum_to : Z -> Z) := 2 * a * (sum_to v - sum_to c) + 2 * D * sum_to c in
  let all := 2 * a * (v - c) + 2 * D * c + apart_ in
  let '(h0, h1, h2) := match k with
    | Unequal => (D, 0, 0)
    | Steps => (a * (1 - 2 * v), apart_ + 2 * a * v, 0)
    | Gaps => (- (a * (v * v) + apart_ * (c * (c + 1))), all, 0)
    | Squares => (a * v * (2 * a * v + apart_ * v) - 2 * a * v * weighed (ball Gaps 1) - apart_ * weighed (ball Squares 1),
        2 * a * v * all, apart_ * all)
    end in
  (* In fine units, because what the ends take is rounded up. *)
  let fine := 2 ^ 128 in
  let g0 := fine * h0 in
  let g1 := fine * h1 in
  let g2 := fine * h2 in
  let p := match k with Unequal => 2 * a * v * g0 | _ => a * (g1 * w + g2 * (w * w)) - apart_ * g0 end in
  let s := match k with Unequal => p + apart_ * g0 | Squares => apart_ * g2 | _ => apart_ * g1 end in
  let e := Z.max 1 (Z.min most (v * up D apart_)) in
  let j := match k with Squares => up (g1 + 2 * g2 * w) (2 * e) | _ => 0 end in
  let next := g0 + g1 * w + g2 * (w * w) + j * (e * e) in
  let half := up p (2 * a) in
  let r := match k with Unequal => g0 - half | _ => g1 + g2 - (if match k with Squares => true | _ => false end then g1 else 0) + j end in
  let pool_ := match k with Unequal => half | _ => Z.max next (Z.max half (up (p - (s + a * r)) a)) end in
  {| base := g0; slope := g1; bend := g2; gain := s; paid := p; inside := c; pool := pool_; rate := r; part := j; split := e |}.
Fixpoint least_inside (k : loss_name) (v a D : Z) (fuel : nat) (low high : Z) : Z :=
  match fuel with
  | O => low
  | S less =>
      if high <=? low then low
      else
        let middle := (low + high) / 2 in
        if 0 <=? flow k v (duals_for k v a D 1 middle) (middle + 1)
        then least_inside k v a D less low middle else least_inside k v a D less (middle + 1) high
  end.
Definition choose_duals (k : loss_name) (v a D n : Z) : duals :=
  let high := match k with Unequal | Steps => 0 | _ => v - 1 end in
  duals_for k v a D (n / 2) (least_inside k v a D (Z.to_nat (Z.log2 v + 2)) 0 high).

Definition check_line (k : loss_name) (q : question) (r : relation) (f : noise) (l : level) (stated : Z * Z)
    (bound : option (Z * Z)) : bool :=
  let v := width f in
  let n := last_joined q r (people f) in
  let unit := loss_unit q k in
  check_noise f l && match line_of q r with Some (m, w) => (m =? people f) && (w =? v) | None => false end &&
  (0 <? people f) && (0 <? unit) &&
  (0 <? snd stated) && (fst stated * 2 ^ bits f * unit =? loss_top k f n * snd stated) &&
  match bound with
  | None => true
  | Some (top, bottom) =>
      let a := alpha_of l in
      let d := choose_duals k v a (2 ^ 62) n in
      (0 <? bottom) &&
      ((top <=? 0) ||
       check_duals k v a (2 ^ 62) d && (v <=? n + 1) && (0 <? floor_bottom d v a n) &&
       (top * unit * floor_bottom d v a n <=? bottom * floor_top d v a n))
  end.

Section Real.
Variable F : numbers.
Add Ring ring_of_claims : (ring_laws F).

Lemma last_range : forall q r n v, line_of q r = Some (n, v) -> 1 <= v -> 0 < n -> 0 <= last_joined q r n <= n.
Proof.
  intros q r n v Hq Hv Hn. destruct q; destruct r; cbn [line_of] in Hq; try discriminate; inversion Hq; subst;
    cbn [last_joined]; try lia. assert (1 <= u) by nia. destruct (Z.eqb_spec v 1); nia.
Qed.

Lemma joined_near : forall q r n v i h, line_of q r = Some (n, v) -> i <= last_joined q r n -> h <= last_joined q r n ->
  within v i h = true -> near_answers q r [i] [h] = true.
Proof.
  intros q r n v i h Hq Hi Hh Hw. destruct q; destruct r; cbn [line_of] in Hq; try discriminate; inversion Hq; subst;
    cbn [last_joined near_answers first hd] in *; rewrite ?Hw; try reflexivity. cbn [andb]. apply Z.leb_le.
  unfold within in Hw. apply andb_prop in Hw as [Hne Hw]. apply negb_true_iff, Z.eqb_neq in Hne. apply Z.leb_le in Hw.
  revert Hi Hh. destruct (Z.eqb_spec v 1) as [->|Hv]; intros; lia.
Qed.

(** If [check_line] holds, then for numbers of every kind, with E = exp(ε): the rows are probabilities and
    private; the loss is at most the stated one under every answer; and no private mechanism on the same
    answers, with whatever outputs, has a worst loss below the stated bound. *)
Theorem line_sound : forall k q r f l stated bound, check_line k q r f l stated bound = true ->
  forall E : F, is_exp E l ->
  let P x y := mul (of_Z (W f x y)) (over (2 ^ bits f)) in
  let answers_ := range (people f + 1) in
  let near i h := near_answers q r [i] [h] in
  let n := last_joined q r (people f) in
  let loss g i := mul (of_Z (apart k (width f) n g i)) (over (loss_unit q k)) in
  (forall x, In x answers_ -> sum (points f) (P x) = (one : F)) /\
  (forall y, private F Z answers_ near (fun _ _ => E) (fun x => P x y)) /\
  (forall x, In x answers_ -> le (sum (points f) (fun y => mul (loss (to_answer (people f) y) x) (P x y)))
     (mul (of_Z (fst stated)) (over (snd stated)))) /\
  (forall top bottom, bound = Some (top, bottom) -> forall O (M : list O) column guess V,
     rows F Z answers_ Z O answers_ column guess M -> all_private F Z answers_ near (fun _ _ => E) O column M ->
     (forall i, In i answers_ -> le (sum M (fun o => mul (loss (guess o) i) (column o i))) V) ->
     le (mul (of_Z top) (over bottom)) V).
Proof.
  intros k q r f l stated bound H E HE P answers_ near n loss. unfold check_line in H. cbv zeta in H.
  apply andb_prop in H as [H Hbound]. apply andb_prop in H as [H Hstated]. apply andb_prop in H as [H Hpart].
  apply andb_prop in H as [H Hunit]. apply andb_prop in H as [H Hseveral]. apply andb_prop in H as [Hnoise Hline].
  apply Z.eqb_eq in Hstated. apply Z.ltb_lt in Hpart, Hunit, Hseveral.
  destruct (line_of q r) as [[m w]|] eqn:Hq; [|discriminate]. apply andb_prop in Hline as [Hm Hw].
  apply Z.eqb_eq in Hm, Hw. subst m w.
  destruct (noise_sound F f l Hnoise E HE) as [Hrows Hprivate].
  destruct (wide f l Hnoise) as [Hv _]. pose proof (parts f l Hnoise) as C. destruct C as [Hp [_ [Hbits [_ [Hsound _]]]]].
  assert (Hpos : 0 < 2 ^ bits f) by (apply Z.pow_pos_nonneg; lia). set (unit := loss_unit q k) in *.
  fold n in Hstated, Hbound.
  assert (Hapart : forall g i, 0 <= apart k (width f) n g i).
  { intros g i. assert (Hphi : forall k, 0 <= phi k (width f) (Z.abs (g - i))).
    { intros k'. pose proof (phi_rises k' (width f) Hv 0 (Z.abs (g - i)) ltac:(lia)) as Hr. rewrite phi_zero in Hr. lia. }
    unfold apart. destruct k; try apply Hphi. destruct ((n <? g) && (n <? i) && negb (g =? i)); [exact Z.le_0_2 | apply Hphi]. }
  split; [|split; [|split]].
  - intros x Hx. apply in_range in Hx. apply Hrows. lia.
  - intros y. destruct (Hprivate y) as [Hpositive Hratio]. split; [exact Hpositive|].
    intros i h Hi Hh Hih. apply Hratio; auto. exact (line_covers q r _ _ [i] [h] Hq Hih).
  - intros x Hx. apply in_range in Hx. pose proof (line_loss f l Hnoise q r Hq Hseveral k x ltac:(lia)) as Hloss. fold n in Hloss.
    apply (le_cancel F (2 ^ bits f)); [exact Hpos|]. apply (le_cancel F unit); [exact Hunit|].
    apply (le_cancel F (snd stated)); [exact Hpart|]. rewrite <- !sum_mul.
    rewrite (sum_ext F _ _ _ (fun y => of_Z (snd stated * (W f x y * apart k (width f) n (to_answer (people f) y) x)))).
    + rewrite <- sum_of_Z, total_times.
      match goal with |- le _ ?e => replace e with
        (mul (mul (of_Z (snd stated)) (over (snd stated))) (of_Z (fst stated * 2 ^ bits f * unit)) : F)
        by (rewrite !(of_Z_mul F); ring) end.
      rewrite (over_law F) by exact Hpart. rewrite Hstated.
      replace (mul one (of_Z (loss_top k f n * snd stated))) with (of_Z (snd stated * loss_top k f n) : F)
        by (rewrite Z.mul_comm; ring).
      apply (of_Z_le F). apply Z.mul_le_mono_nonneg_l; lia.
    + intros y _. unfold P, loss. fold unit. rewrite !(of_Z_mul F).
      match goal with |- ?e = ?g => transitivity
        (mul (mul (of_Z (2 ^ bits f)) (over (2 ^ bits f))) (mul (mul (of_Z unit) (over unit)) g)) end.
      * ring.
      * rewrite !(over_law F) by assumption. ring.
  - intros top bottom -> O M column guess V [Hguess HM] Hpriv Hloss. cbv zeta in Hbound.
    apply andb_prop in Hbound as [Hbottom Hbound]. apply Z.ltb_lt in Hbottom.
    assert (HV : le zero V).
    { apply (le_trans F _ (sum M (fun o => mul (loss (guess o) 0) (column o 0)))); [|apply Hloss, in_range; lia].
      apply sum_nonneg. intros o Ho. destruct (Hpriv o Ho) as [Hcol _].
      apply (le_mul F); [|apply Hcol, in_range; lia]. unfold loss.
      apply (le_mul F); [now apply of_Z_nonneg | now apply over_nonneg]. }
    apply orb_prop in Hbound as [Hneg|Hbound].
    { apply Z.leb_le in Hneg. apply (le_trans F _ zero); [|exact HV]. apply (le_cancel F bottom); [exact Hbottom|].
      match goal with |- le ?e _ => replace e with (mul (mul (of_Z bottom) (over bottom)) (of_Z top) : F) by ring end.
      rewrite (over_law F) by exact Hbottom. replace (mul (of_Z bottom) zero) with (of_Z 0 : F) by (rewrite of_Z_zero; ring).
      replace (mul one (of_Z top)) with (of_Z top : F) by ring. now apply (of_Z_le F). }
    set (a := alpha_of l) in *. set (d := choose_duals k (width f) a (2 ^ 62) n) in *.
    apply andb_prop in Hbound as [Hbound Hle]. apply andb_prop in Hbound as [Hbound Hfloor]. apply andb_prop in Hbound as [Hduals Hvn].
    apply Z.leb_le in Hle, Hvn. apply Z.ltb_lt in Hfloor.
    destruct (alpha_exp F l E Hsound HE) as [Ha0 HaE]. fold a in Ha0, HaE.
    pose proof (last_range q r _ _ Hq Hv Hseveral) as Hlast. fold n in Hlast.
    assert (Hinner : forall i, In i (range (n + 1)) -> In i answers_).
    { intros i Hi. apply in_range in Hi. apply in_range. lia. }
    assert (Hfloors : le (of_Z (floor_top d (width f) a n)) (mul (of_Z (floor_bottom d (width f) a n)) (mul (of_Z unit) V))).
    { apply (line_floor F k (width f) a (2 ^ 62) d n Hduals Hvn E HaE near) with (M := M) (column := column)
        (guess := guess) (loss := apart k (width f) n).
      - intros y z Hy Hz Hyz. apply (joined_near q r (people f) (width f)); auto; fold n; lia.
      - intros i Hi. apply HM. now apply Hinner.
      - intros o Ho. destruct (Hpriv o Ho) as [Hcol Hratio]. split; auto.
      - intros g i Hi.
        assert (Hphi : phi k (width f) (Z.abs (Z.max 0 (Z.min g n) - i)) <= phi k (width f) (Z.abs (g - i)))
          by (apply phi_rises; [assumption | lia]).
        unfold apart. replace (n <? i) with false by (symmetry; apply Z.ltb_ge; lia). rewrite andb_false_r.
        destruct k; exact Hphi.
      - intros i Hi. specialize (Hloss i (Hinner i Hi)). apply (mul_le_l F _ _ (of_Z unit)) in Hloss; [|apply of_Z_nonneg; lia].
        rewrite <- sum_mul in Hloss.
        rewrite (sum_ext F _ M _ (fun o => mul (of_Z unit) (mul (loss (guess o) i) (column o i)))); [exact Hloss|].
        intros o _. unfold loss. fold unit.
        match goal with |- ?e = _ => transitivity (mul (mul (of_Z unit) (over unit)) e) end;
          [rewrite (over_law F) by assumption; ring | ring]. }
    set (den := floor_bottom d (width f) a n) in *. set (num := floor_top d (width f) a n) in *.
    apply (le_cancel F den); [exact Hfloor|]. apply (le_cancel F unit); [exact Hunit|]. apply (le_cancel F bottom); [exact Hbottom|].
    match goal with |- le ?e _ => replace e with (mul (mul (of_Z bottom) (over bottom)) (of_Z (top * unit * den)) : F)
      by (rewrite !(of_Z_mul F); ring) end.
    rewrite (over_law F) by exact Hbottom. replace (mul one (of_Z (top * unit * den))) with (of_Z (top * unit * den) : F) by ring.
    apply (le_trans F _ (of_Z (bottom * num))); [now apply (of_Z_le F)|]. rewrite (of_Z_mul F).
    replace (mul (of_Z unit) (mul (of_Z den) V)) with (mul (of_Z den) (mul (of_Z unit) V)) by ring.
    apply mul_le_l; [apply of_Z_nonneg; lia | exact Hfloors].
Qed.
End Real.
