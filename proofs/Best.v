(** * No noise on a lattice is better than α^d

    Noise p is a weight for every point of a lattice, with p(z') >= α·p(z) for points one step
    apart. Points are sorted into layers by their distance from 0. *)

From Coq Require Import ZArith List Ring Lia.
From Tightrope Require Import Numbers.
Import ListNotations.
Open Scope Z_scope.

Fixpoint up_to (f : nat -> Z) (n : nat) : Z :=
  match n with O => f O | S m => up_to f m + f n end.

(** ** The weights of layers: m_t = g_t·N_t, where g_t stands for α^t, and a loss φ_t that never falls *)
Section Weights.
  Variables (m phi : nat -> Z) (last : nat).
  Hypothesis Hm : forall t, (t <= last)%nat -> 0 < m t.
  Hypothesis Hphi : forall s t, (s <= t)%nat -> phi s <= phi t.

  (** The loss of the noise m is [lost] over [mass]. *)
  Definition mass : Z := up_to m last.
  Definition lost : Z := up_to (fun t => m t * phi t) last.
  Definition owed (t : nat) : Z := up_to (fun s => m s * (lost - mass * phi s)) t.

  Lemma mass_pos : 0 < mass.
  Proof.
    unfold mass. assert (H : forall n, (n <= last)%nat -> 0 < up_to m n); [|now apply H].
    induction n as [|n IH]; intros Hn; cbn [up_to]; pose proof (Hm _ Hn); [lia|]. specialize (IH ltac:(lia)). lia.
  Qed.

  Lemma owed_total : owed last = 0.
  Proof.
    assert (H : forall n a b, up_to (fun s => m s * (a - b * phi s)) n
      = a * up_to m n - b * up_to (fun t => m t * phi t) n).
    { induction n as [|n IH]; intros; cbn [up_to]; rewrite ?IH; ring. }
    unfold owed. rewrite H. unfold mass, lost. ring.
  Qed.

  (** Layers nearer than the mean have something left over, those further away owe it. *)
  Lemma owed_nonneg : forall t, (t <= last)%nat -> 0 <= owed t.
  Proof.
    intros t Ht. destruct (Z.le_gt_cases (mass * phi t) lost) as [Hnear|Hfar].
    - assert (H : forall n, (n <= t)%nat -> 0 <= owed n); [|now apply H].
      pose proof mass_pos as Hmass.
      assert (Hterm : forall n, (n <= t)%nat -> 0 <= m n * (lost - mass * phi n)).
      { intros n Hn. pose proof (Hm n ltac:(lia)). pose proof (Hphi n t Hn). apply Z.mul_nonneg_nonneg; nia. }
      induction n as [|n IH]; intros Hn; unfold owed in *; cbn [up_to]; pose proof (Hterm _ Hn); [lia|].
      specialize (IH ltac:(lia)). lia.
    - assert (H : forall k, (t + k <= last)%nat -> owed (t + k) <= owed t).
      { pose proof mass_pos as Hmass. induction k as [|k IH]; intros Hk; [rewrite Nat.add_0_r; lia|].
        rewrite Nat.add_succ_r in *. specialize (IH ltac:(lia)). unfold owed in *. cbn [up_to].
        pose proof (Hm (S (t + k)) Hk). pose proof (Hphi t (S (t + k)) ltac:(lia)).
        assert (m (S (t + k)) * (lost - mass * phi (S (t + k))) <= 0) by (apply Z.mul_nonneg_nonpos; nia). lia. }
      specialize (H (last - t)%nat ltac:(lia)). replace (t + (last - t))%nat with last in H by lia.
      rewrite owed_total in H. exact H.
  Qed.
End Weights.

(** ** Noise *)
Section Noise.
  Variable F : numbers.
  Add Ring ring_of_best : (ring_laws F).
  Local Open Scope num_scope.
  Variables (A : Type) (p : A -> F) (alpha : F) (layer : nat -> list A).
  Variables (g phi : nat -> Z) (last : nat).
  Hypothesis Hp : forall z, 0 <= p z.
  Hypothesis Halpha : 0 <= alpha.
  Hypothesis Hg : forall t, (t <= last)%nat -> (0 < g t)%Z.
  Hypothesis Hfall : forall t, (t < last)%nat -> of_Z (g (S t)) <= alpha * of_Z (g t).
  Hypothesis Hphi : forall s t, (s <= t)%nat -> (phi s <= phi t)%Z.

  Definition many (t : nat) : Z := Z.of_nat (length (layer t)).
  Definition weight_of (t : nat) : F := sum (layer t) p.
  Hypothesis Hmany : forall t, (t <= last)%nat -> (0 < many t)%Z.

  (** "A uniform point of layer t can be moved by one step to a uniform point of layer t+1." *)
  Definition moves (t : nat) : Prop := exists K : A -> A -> Z,
    (forall z, In z (layer t) -> total (layer (S t)) (K z) = many (S t)) /\
    (forall y, In y (layer (S t)) -> total (layer t) (fun z => K z y) = many t) /\
    (forall z y, In z (layer t) -> In y (layer (S t)) -> K z y = 0%Z \/ (0 <= K z y)%Z /\ alpha * p z <= p y).

  (** So the mean of the noise over a layer falls by at most α. *)
  Lemma layer_falls : forall t, moves t ->
    alpha * (of_Z (many (S t)) * weight_of t) <= of_Z (many t) * weight_of (S t).
  Proof.
    intros t [K [Hout [Hin Hstep]]]. unfold weight_of.
    replace (of_Z (many (S t)) * sum (layer t) p)
      with (sum (layer t) (fun z => sum (layer (S t)) (fun y => of_Z (K z y) * p z))).
    - replace (of_Z (many t) * sum (layer (S t)) p)
        with (sum (layer t) (fun z => sum (layer (S t)) (fun y => of_Z (K z y) * p y))).
      + rewrite <- sum_mul. apply sum_le. intros z Hz. rewrite <- sum_mul. apply sum_le. intros y Hy.
        destruct (Hstep z y Hz Hy) as [->|[HK Hle]].
        * rewrite (of_Z_zero F). apply le_sub. replace (0 * p y - alpha * (0 * p z)) with (0 : F) by ring. apply (le_refl F).
        * replace (alpha * (of_Z (K z y) * p z)) with (of_Z (K z y) * (alpha * p z)) by ring.
          apply mul_le_l; [now apply of_Z_nonneg | exact Hle].
      + rewrite sum_swap, <- sum_mul. apply sum_ext. intros y Hy. rewrite <- (Hin y Hy), sum_of_Z.
        rewrite (sum_ext F _ (layer t) (fun z => of_Z (K z y) * p y) (fun z => p y * of_Z (K z y))) by (intros; ring).
        rewrite sum_mul. ring.
    - rewrite <- sum_mul. apply sum_ext. intros z Hz. rewrite <- (Hout z Hz), sum_of_Z.
      rewrite (sum_ext F _ (layer (S t)) _ (fun y => p z * of_Z (K z y))) by (intros; ring).
      rewrite sum_mul. ring.
  Qed.

  Fixpoint added_to (f : nat -> F) (n : nat) : F :=
    match n with O => f O | S m => added_to f m + f n end.

  Definition share (t : nat) : Z := (g t * many t)%Z.
  Notation G := (mass share last).
  Notation L := (lost share phi last).

  Lemma share_pos : forall t, (t <= last)%nat -> (0 < share t)%Z.
  Proof. intros t Ht. unfold share. pose proof (Hg t Ht). pose proof (Hmany t Ht). nia. Qed.

  (** What the first layers owe is paid by the next ones, α times as much for each step. *)
  Lemma paid : (forall t, (t < last)%nat -> moves t) -> forall n, (n <= last)%nat ->
    of_Z (share n) * added_to (fun t => weight_of t * of_Z (L - G * phi t)) n
    <= weight_of n * of_Z (owed share phi last n).
  Proof.
    intros Hmoves. induction n as [|n IH]; intros Hn.
    - cbn [added_to owed up_to]. unfold owed. cbn [up_to]. rewrite (of_Z_mul F).
      replace (of_Z (share 0) * (weight_of 0 * of_Z (L - G * phi 0)))
        with (weight_of 0 * (of_Z (share 0) * of_Z (L - G * phi 0))) by ring. apply (le_refl F).
    - specialize (IH ltac:(lia)). pose proof (share_pos n ltac:(lia)) as Hs.
      unfold owed. cbn [added_to up_to]. fold (owed share phi last n).
      rewrite (of_Z_add F), (of_Z_mul F).
      set (X := added_to (fun t => weight_of t * of_Z (L - G * phi t)) n) in *.
      set (D := of_Z (owed share phi last n) : F) in *. set (e := of_Z (L - G * phi (S n)) : F).
      apply le_sub.
      replace (weight_of (S n) * (D + of_Z (share (S n)) * e) - of_Z (share (S n)) * (X + weight_of (S n) * e))
        with (weight_of (S n) * D - of_Z (share (S n)) * X) by ring.
      apply sub_le. apply (le_cancel F (share n)); [exact Hs|].
      assert (HD : 0 <= D) by (apply of_Z_nonneg; apply owed_nonneg; auto using share_pos; lia).
      assert (Hw : 0 <= weight_of n) by (apply sum_nonneg; auto).
      apply (le_trans F _ (of_Z (share (S n)) * (weight_of n * D))).
      { replace (of_Z (share n) * (of_Z (share (S n)) * X)) with (of_Z (share (S n)) * (of_Z (share n) * X)) by ring.
        apply mul_le_l; [|exact IH]. apply of_Z_nonneg. pose proof (share_pos (S n) Hn). lia. }
      replace (of_Z (share (S n)) * (weight_of n * D)) with (D * (of_Z (share (S n)) * weight_of n)) by ring.
      replace (of_Z (share n) * (weight_of (S n) * D)) with (D * (of_Z (share n) * weight_of (S n))) by ring.
      apply mul_le_l; [exact HD|]. unfold share. rewrite !(of_Z_mul F).
      (* g'·N'·P <= α·g·N'·P <= g·N·P' *)
      apply (le_trans F _ (of_Z (g n) * (alpha * (of_Z (many (S n)) * weight_of n)))).
      + replace (of_Z (g (S n)) * of_Z (many (S n)) * weight_of n)
          with ((of_Z (many (S n)) * weight_of n) * of_Z (g (S n))) by ring.
        replace (of_Z (g n) * (alpha * (of_Z (many (S n)) * weight_of n)))
          with ((of_Z (many (S n)) * weight_of n) * (alpha * of_Z (g n))) by ring.
        apply mul_le_l; [|apply Hfall; lia]. apply (le_mul F); [|exact Hw]. apply of_Z_nonneg. unfold many. lia.
      + replace (of_Z (g n) * of_Z (many n) * weight_of (S n)) with (of_Z (g n) * (of_Z (many n) * weight_of (S n))) by ring.
        apply mul_le_l; [apply of_Z_nonneg; pose proof (Hg n ltac:(lia)); lia|]. apply layer_falls, Hmoves. lia.
  Qed.

  (** "No noise has a smaller loss than α^d": whatever further points there are, whose loss is no
      smaller, Σ p·φ >= (Σ g·N·φ / Σ g·N)·Σ p. *)
  Theorem noise_best : (forall t, (t < last)%nat -> moves t) ->
    forall (rest : list A) (far : A -> Z), (forall z, In z rest -> (phi last <= far z)%Z) ->
    of_Z L * (added_to weight_of last + sum rest p)
    <= of_Z G * (added_to (fun t => of_Z (phi t) * weight_of t) last + sum rest (fun z => of_Z (far z) * p z)).
  Proof.
    intros Hmoves rest far Hfar. pose proof (paid Hmoves last ltac:(lia)) as H.
    rewrite owed_total in H. rewrite (of_Z_zero F) in H. replace (weight_of last * 0) with (0 : F) in H by ring.
    assert (Hsplit : forall n a b, added_to (fun t => weight_of t * of_Z (a - b * phi t)) n
      = of_Z a * added_to weight_of n - of_Z b * added_to (fun t => of_Z (phi t) * weight_of t) n).
    { induction n as [|n IH]; intros a b; cbn [added_to]; rewrite ?IH, (of_Z_sub F), (of_Z_mul F); ring. }
    rewrite Hsplit in H.
    assert (Hlayers : of_Z L * added_to weight_of last - of_Z G * added_to (fun t => of_Z (phi t) * weight_of t) last <= 0).
    { apply (le_cancel F (share last)); [apply share_pos; lia|]. now replace (of_Z (share last) * 0) with (0 : F) by ring. }
    (* The furthest layer is at least as far as the mean. *)
    assert (Hmean : (L <= G * phi last)%Z).
    { unfold lost, mass. clear - Hg Hmany Hphi. assert (Hn : forall n, (n <= last)%nat ->
        (up_to (fun t => share t * phi t) n <= up_to share n * phi last)%Z); [|now apply Hn].
      induction n as [|n IH]; intros Hn; cbn [up_to]; pose proof (share_pos _ Hn); pose proof (Hphi _ last Hn); [nia|].
      specialize (IH ltac:(lia)). nia. }
    pose proof (mass_pos share last share_pos) as HG.
    assert (Hrest : of_Z L * sum rest p <= of_Z G * sum rest (fun z => of_Z (far z) * p z)).
    { rewrite <- !sum_mul. apply sum_le. intros z Hz. specialize (Hfar z Hz).
      replace (of_Z G * (of_Z (far z) * p z)) with (p z * (of_Z G * of_Z (far z))) by ring.
      replace (of_Z L * p z) with (p z * of_Z L) by ring. apply mul_le_l; [apply Hp|].
      rewrite <- (of_Z_mul F). apply (of_Z_le F). nia. }
    apply le_sub.
    replace (of_Z G * (added_to (fun t => of_Z (phi t) * weight_of t) last + sum rest (fun z => of_Z (far z) * p z))
        - of_Z L * (added_to weight_of last + sum rest p))
      with ((0 - (of_Z L * added_to weight_of last - of_Z G * added_to (fun t => of_Z (phi t) * weight_of t) last))
        + (of_Z G * sum rest (fun z => of_Z (far z) * p z) - of_Z L * sum rest p)) by ring.
    apply add_nonneg; apply sub_le; assumption.
  Qed.
End Noise.

(** ** A count: the layers are 0, then -t and t *)
Definition count_layer (t : nat) : list Z :=
  match t with O => [0] | S _ => [- Z.of_nat t; Z.of_nat t] end.

Lemma count_moves : forall (F : numbers) (p : Z -> F) alpha,
  (forall z y, Z.abs (z - y) = 1 -> le (mul alpha (p z)) (p y)) ->
  forall t, moves F Z p alpha count_layer t.
Proof.
  intros F p alpha Hp t. destruct t as [|t].
  - exists (fun _ _ => 1). cbn [count_layer many length]. unfold many. cbn [count_layer length].
    repeat split; try (intros; reflexivity). intros z y [<-|[]] Hy. right. split; [lia|]. apply Hp.
    destruct Hy as [<-|[<-|[]]]; reflexivity.
  - (* Each half goes on alone: 2 to the point on the same side. *)
    exists (fun z y => if (z <? 0) && (y <? 0) || (0 <? z) && (0 <? y) then 2 else 0)%bool.
    unfold many. set (a := Z.of_nat (S t)). set (b := Z.of_nat (S (S t))).
    assert (Hb : b = a + 1) by (unfold a, b; lia). assert (Ha : 0 < a) by (unfold a; lia).
    change (count_layer (S t)) with [- a; a]. change (count_layer (S (S t))) with [- b; b].
    assert (H1 : (- a <? 0) = true) by (apply Z.ltb_lt; lia). assert (H2 : (0 <? - a) = false) by (apply Z.ltb_ge; lia).
    assert (H3 : (a <? 0) = false) by (apply Z.ltb_ge; lia). assert (H4 : (0 <? a) = true) by (apply Z.ltb_lt; lia).
    assert (H5 : (- b <? 0) = true) by (apply Z.ltb_lt; lia). assert (H6 : (0 <? - b) = false) by (apply Z.ltb_ge; lia).
    assert (H7 : (b <? 0) = false) by (apply Z.ltb_ge; lia). assert (H8 : (0 <? b) = true) by (apply Z.ltb_lt; lia).
    repeat split.
    + intros z [<-|[<-|[]]]; unfold total; cbn [fold_left length]; rewrite ?H1, ?H2, ?H3, ?H4, ?H5, ?H6, ?H7, ?H8; reflexivity.
    + intros y [<-|[<-|[]]]; unfold total; cbn [fold_left length]; rewrite ?H1, ?H2, ?H3, ?H4, ?H5, ?H6, ?H7, ?H8; reflexivity.
    + intros z y [<-|[<-|[]]] [<-|[<-|[]]]; rewrite ?H1, ?H2, ?H3, ?H4, ?H5, ?H6, ?H7, ?H8; cbn [andb orb];
        [right | now left | now left | right]; (split; [lia|]; apply Hp; lia).
Qed.

(** "For a count no noise is better than α^|z|", for every loss that never falls with |z|, and whatever
    points the noise has beyond the layers that are counted. *)
Theorem count_best : forall (F : numbers) (p : Z -> F) (alpha : F) (g phi : nat -> Z) (last : nat),
  (forall z, le zero (p z)) -> le zero alpha ->
  (forall z y, Z.abs (z - y) = 1 -> le (mul alpha (p z)) (p y)) ->
  (forall t, (t <= last)%nat -> 0 < g t) ->
  (forall t, (t < last)%nat -> le (of_Z (g (S t))) (mul alpha (of_Z (g t)))) ->
  (forall s t, (s <= t)%nat -> phi s <= phi t) ->
  forall rest, (forall z, In z rest -> (last < Z.to_nat (Z.abs z))%nat) ->
  let share t := g t * many Z count_layer t in
  let loss z := phi (Z.to_nat (Z.abs z)) in
  le (mul (of_Z (lost share phi last)) (add (added_to F (weight_of F Z p count_layer) last) (sum rest p)))
     (mul (of_Z (mass share last))
        (add (added_to F (fun t => mul (of_Z (phi t)) (weight_of F Z p count_layer t)) last)
          (sum rest (fun z => mul (of_Z (loss z)) (p z))))).
Proof.
  intros F p alpha g phi last Hp Ha Hstep Hg Hfall Hphi rest Hrest share loss.
  apply (noise_best F Z p alpha count_layer g phi last); auto.
  - intros t _. unfold many. destruct t; cbn [count_layer length]; lia.
  - intros t _. now apply count_moves.
  - intros z Hz. apply Hphi. specialize (Hrest z Hz). lia.
Qed.
