(** * Noise on a line (_lattice_ weights of count, sum, mean and path)

    W[x,y] = w[min(t, T)] for the points y of a box around the answers, where t is the distance of y
    from the answer x: 0 up to a core r, then one more for every v points. The file names w_1; every
    further level is ⌈w·q/p⌉, T is the first that stays as it is, and w_0 is what is left to 2^bits.
    What does not divide by the points of the first layer goes to the one in its middle. *)

From Coq Require Import ZArith List Ring Lia Bool.
From Tightrope Require Import Numbers Duality Exponential Questions.
Import ListNotations.
Open Scope Z_scope.

Record noise := {
  people : Z;                 (* the answers are 0 … people *)
  width : Z;                  (* neighbours differ by 1 … width *)
  core : Z;
  start : Z;
  top_of : Z; bottom_of : Z;  (* p/q *)
  bits : Z;
  steps : nat                 (* hint: at least as many as there are levels *)
}.

(** The line of a question: its largest answer, and how far apart neighbours are. *)
Definition line_of (q : question) (r : relation) : option (Z * Z) :=
  match q, r with
  | Count n, _ => Some (n, 1)
  | Path n, _ => Some (n - 1, 1)
  | Sum u v, _ => Some (u * v, v)
  | Mean u v, ChangeOne => Some (u * v, v)
  | _, _ => None
  end.

Theorem line_covers : forall q r n v x y, line_of q r = Some (n, v) ->
  near_answers q r x y = true -> within v (first x) (first y) = true.
Proof.
  intros q r n v x y H Hn.
  destruct q; destruct r; simpl in H; try discriminate; inversion H; subst;
    cbn [near_answers] in Hn; try exact Hn; now apply andb_prop in Hn as [Hn _].
Qed.

Fixpoint falling (p q : Z) (n : nat) (w : Z) : list Z :=
  match n with
  | O => [w]
  | S m => let next := up (w * q) p in if next =? w then [w] else w :: falling p q m next
  end.

(** Levels never rise, and fall by at most p/q. *)
Fixpoint steady (p q : Z) (w : Z) (l : list Z) : bool :=
  match l with
  | [] => true
  | x :: rest => (0 <=? x) && (x <=? w) && (w * q <=? x * p) && steady p q x rest
  end.

Section Noise.
  Variable f : noise.
  Definition later : list Z := falling (top_of f) (bottom_of f) (steps f) (start f).
  Definition T : Z := Z.of_nat (length later).
  Definition floor : Z := last later 0.
  Definition reach : Z := core f + T * width f.
  Definition box : Z := people f + 1 + 2 * reach.
  (** What the layers beyond the first weigh above the floor: each has 2·width points. *)
  Definition layers : Z := let lowest := floor in 2 * width f * total later (fun w => w - lowest).
  Definition left_over : Z := 2 ^ bits f - floor * box - layers.
  Definition centre : Z := 2 * core f + 1.
  Definition w0 : Z := left_over / centre + floor.
  Definition odd : Z := left_over mod centre.

  Definition check_noise (l : level) : bool :=
    let w := w0 in
    let first := hd 0 later in
    (0 <=? people f) && (0 <=? core f) && (core f <? width f) && (0 <=? bits f) &&
    (0 <? bottom_of f) && (bottom_of f <=? top_of f) && sound l && below l (top_of f) (bottom_of f) &&
    (0 <=? floor) && (0 <? left_over) &&
    steady (top_of f) (bottom_of f) w later &&
    ((w + odd) * bottom_of f <=? first * top_of f).

  (** The weight of point y under answer x. *)
  Definition depth (z : Z) : Z := up (Z.max 0 (Z.abs z - core f)) (width f).
  Definition level_from (w t : Z) : Z := nth (Z.to_nat (Z.min t T)) (w :: later) 0.
  Definition lev : Z -> Z := level_from w0.
  Definition W (x y : Z) : Z := lev (depth (y - x)) + (if y =? x then odd else 0).
  Definition points : list Z := count_from (Z.to_nat box) (- reach).

  Variable l : level.
  Hypothesis checked : check_noise l = true.

  Lemma parts : 0 <= people f /\ 0 <= core f < width f /\ 0 <= bits f /\ 0 < bottom_of f <= top_of f
    /\ sound l = true /\ below l (top_of f) (bottom_of f) = true /\ 0 <= floor /\ 0 < left_over
    /\ steady (top_of f) (bottom_of f) w0 later = true
    /\ (w0 + odd) * bottom_of f <= hd 0 later * top_of f.
  Proof.
    unfold check_noise in checked. cbv zeta in checked.
    repeat (apply andb_prop in checked as [checked ?]).
    repeat match goal with
      | H : (_ <=? _) = true |- _ => apply Z.leb_le in H
      | H : (_ <? _) = true |- _ => apply Z.ltb_lt in H end.
    tauto.
  Qed.

  Lemma later_some : later <> [].
  Proof. unfold later. destruct (steps f); simpl; [discriminate|]. now destruct (_ =? _). Qed.

  Lemma T_pos : 1 <= T.
  Proof. unfold T. pose proof later_some. destruct later; [contradiction|]. cbn [length]. lia. Qed.

  (** ** One step changes the depth by at most 1 *)
  Lemma up_bounds : forall x y, 0 < y -> x <= y * up x y < x + y.
  Proof.
    intros x y Hy. unfold up. pose proof (Z.div_mod (- x) y). pose proof (Z.mod_pos_bound (- x) y Hy). lia.
  Qed.

  Lemma depth_nonneg : forall z, 0 <= depth z.
  Proof.
    intros z. destruct parts as [_ [Hc _]]. unfold depth.
    pose proof (up_bounds (Z.max 0 (Z.abs z - core f)) (width f)). nia.
  Qed.

  Lemma depth_step : forall y z, Z.abs (y - z) <= width f -> depth y <= depth z + 1.
  Proof.
    intros y z H. destruct parts as [_ [Hc _]]. unfold depth.
    pose proof (up_bounds (Z.max 0 (Z.abs y - core f)) (width f)).
    pose proof (up_bounds (Z.max 0 (Z.abs z - core f)) (width f)). nia.
  Qed.

  Lemma depth_zero : depth 0 = 0.
  Proof.
    destruct parts as [_ [Hc _]]. unfold depth.
    pose proof (up_bounds (Z.max 0 (Z.abs 0 - core f)) (width f)). simpl Z.abs in *. nia.
  Qed.

  (** ** The levels *)
  Lemma steady_nth : forall p q ls w, steady p q w ls = true -> forall i, (i < length ls)%nat ->
    0 <= nth (S i) (w :: ls) 0 <= nth i (w :: ls) 0 /\
    nth i (w :: ls) 0 * q <= nth (S i) (w :: ls) 0 * p.
  Proof.
    induction ls as [|x ls IH]; intros w H i Hi; [simpl in Hi; lia|].
    cbn [steady] in H. apply andb_prop in H as [H Hrest]. apply andb_prop in H as [H H3].
    apply andb_prop in H as [H1 H2]. apply Z.leb_le in H1, H2, H3.
    destruct i as [|i]; [cbn [nth]; lia|].
    apply (IH x Hrest i). simpl in Hi. lia.
  Qed.

  Lemma level_step : forall w, 0 < bottom_of f <= top_of f ->
    steady (top_of f) (bottom_of f) w later = true -> forall t, 0 <= t ->
    0 <= level_from w (t + 1) <= level_from w t /\
    level_from w t * bottom_of f <= level_from w (t + 1) * top_of f.
  Proof.
    intros w Hpq Hs t Ht. pose proof T_pos as HT. unfold level_from.
    destruct (Z.lt_ge_cases t T) as [Hlt|Hge].
    - rewrite !Z.min_l by lia.
      replace (Z.to_nat (t + 1)) with (S (Z.to_nat t)) by lia.
      apply (steady_nth _ _ _ _ Hs). unfold T in *. lia.
    - rewrite !Z.min_r by lia.
      assert (0 <= nth (Z.to_nat T) (w :: later) 0).
      { replace (Z.to_nat T) with (S (Z.to_nat (T - 1))) by lia.
        apply (steady_nth _ _ _ _ Hs). unfold T in *. lia. }
      nia.
  Qed.

  Lemma level_fall : forall w, 0 < bottom_of f <= top_of f ->
    steady (top_of f) (bottom_of f) w later = true -> forall t s, 0 <= t <= s ->
    0 <= level_from w s <= level_from w t.
  Proof.
    intros w Hpq Hs t s H. replace s with (t + Z.of_nat (Z.to_nat (s - t))) by lia.
    generalize (Z.to_nat (s - t)) as n. induction n as [|n IH].
    - rewrite Z.add_0_r. pose proof (level_step w Hpq Hs t ltac:(lia)). lia.
    - pose proof (level_step w Hpq Hs (t + Z.of_nat n) ltac:(lia)) as Hstep.
      replace (t + Z.of_nat (S n)) with (t + Z.of_nat n + 1) by lia. lia.
  Qed.

  Lemma lev_step : forall t, 0 <= t ->
    0 <= lev (t + 1) <= lev t /\ lev t * bottom_of f <= lev (t + 1) * top_of f.
  Proof. destruct parts as [_ [_ [_ [Hpq [_ [_ [_ [_ [Hs _]]]]]]]]]. now apply level_step. Qed.

  Lemma lev_fall : forall t s, 0 <= t <= s -> 0 <= lev s <= lev t.
  Proof. destruct parts as [_ [_ [_ [Hpq [_ [_ [_ [_ [Hs _]]]]]]]]]. now apply level_fall. Qed.

  Lemma lev_zero : lev 0 = w0.
  Proof. unfold lev, level_from. pose proof T_pos. rewrite Z.min_l by lia. reflexivity. Qed.

  Lemma odd_nonneg : 0 <= odd.
  Proof. destruct parts as [_ [Hc _]]. apply Z.mod_pos_bound. unfold centre. lia. Qed.

  Lemma W_nonneg : forall x y, 0 <= W x y.
  Proof.
    intros. unfold W. pose proof (depth_nonneg (y - x)) as Hd.
    pose proof (lev_fall _ _ (conj Hd (Z.le_refl _))). pose proof odd_nonneg.
    destruct (y =? x); lia.
  Qed.

  (** "One step changes t by at most 1, and the levels fall by at most p/q." *)
  Theorem noise_private : forall x h y, Z.abs (x - h) <= width f ->
    W x y * bottom_of f <= W h y * top_of f.
  Proof.
    intros x h y Hxh. destruct parts as [_ [_ [_ [Hpq [_ [_ [_ [_ [_ Hodd]]]]]]]]].
    pose proof (depth_nonneg (y - x)) as Hd. pose proof (depth_nonneg (y - h)) as Hd'.
    assert (Hstep : depth (y - h) <= depth (y - x) + 1) by (apply depth_step; lia).
    pose proof odd_nonneg as Ho. unfold W.
    assert (Hlow : lev (depth (y - x) + 1) <= lev (depth (y - h))) by (apply lev_fall; lia).
    assert (Hh : 0 <= (if y =? h then odd else 0)) by (destruct (y =? h); lia).
    destruct (y =? x) eqn:Hy.
    - apply Z.eqb_eq in Hy. subst y. rewrite Z.sub_diag in *. rewrite depth_zero in *.
      rewrite lev_zero.
      assert (Hone : lev (0 + 1) = hd 0 later).
      { unfold lev, level_from. pose proof T_pos. rewrite Z.min_l by lia. change (Z.to_nat (0 + 1)) with 1%nat.
        cbn [nth]. now destruct later. }
      rewrite Hone in Hlow. nia.
    - pose proof (lev_step (depth (y - x)) Hd). nia.
  Qed.

  (** ** Every row has the same sum *)
  Lemma count_from_app : forall a b i, count_from (a + b) i = count_from a i ++ count_from b (i + Z.of_nat a).
  Proof.
    induction a as [|a IH]; intros b i; [simpl; f_equal; lia|].
    cbn [Nat.add count_from app]. rewrite IH. do 3 f_equal. lia.
  Qed.

  Lemma total_app : forall A (k m : list A) g, total (k ++ m) g = total k g + total m g.
  Proof.
    induction k as [|a k IH]; intros; [reflexivity|].
    rewrite <- app_comm_cons, !total_cons, IH. lia.
  Qed.

  Lemma total_ext : forall A (k : list A) g h, (forall a, In a k -> g a = h a) -> total k g = total k h.
  Proof.
    induction k as [|a k IH]; intros g h H; [reflexivity|].
    rewrite !total_cons, (H a (or_introl eq_refl)), (IH g h); auto. intros; apply H; right; auto.
  Qed.

  Lemma total_const : forall n i c, total (count_from n i) (fun _ => c) = Z.of_nat n * c.
  Proof.
    induction n as [|n IH]; intros; [reflexivity|].
    cbn [count_from]. rewrite total_cons, IH. lia.
  Qed.

  Lemma total_shift : forall n i x g,
    total (count_from n i) (fun y => g (y - x)) = total (count_from n (i - x)) g.
  Proof.
    induction n as [|n IH]; intros; [reflexivity|].
    cbn [count_from]. rewrite !total_cons, IH. do 2 f_equal. f_equal. lia.
  Qed.

  Lemma total_add : forall A (k : list A) g h, total k (fun a => g a + h a) = total k g + total k h.
  Proof. induction k as [|a k IH]; intros; [reflexivity|]. rewrite !total_cons, IH. lia. Qed.

  Definition excess (z : Z) : Z := lev (depth z) - floor.

  Lemma nth_last : forall k : list Z, k <> [] -> nth (length k - 1) k 0 = last k 0.
  Proof.
    induction k as [|a k IH]; intros Hk; [contradiction|].
    destruct k as [|b k]; [reflexivity|].
    change (last (a :: b :: k) 0) with (last (b :: k) 0). rewrite <- IH by discriminate.
    cbn [length]. replace (S (S (length k)) - 1)%nat with (S (S (length k) - 1)) by lia. reflexivity.
  Qed.

  Lemma level_floor : forall w, level_from w T = floor.
  Proof.
    intros w. unfold level_from, floor. rewrite Z.min_id. pose proof T_pos as HT. unfold T in *.
    replace (Z.to_nat (Z.of_nat (length later))) with (S (length later - 1)) by lia. cbn [nth].
    apply nth_last. apply later_some.
  Qed.

  Lemma depth_is : forall t z, 1 <= t ->
    core f + (t - 1) * width f < Z.abs z <= core f + t * width f -> depth z = t.
  Proof.
    intros t z Ht Hz. destruct parts as [_ [Hc _]]. unfold depth.
    pose proof (up_bounds (Z.max 0 (Z.abs z - core f)) (width f)). nia.
  Qed.

  Lemma excess_beyond : forall z, reach < Z.abs z -> excess z = 0.
  Proof.
    intros z Hz. unfold excess. destruct parts as [_ [Hc _]]. pose proof T_pos as HT.
    assert (T <= depth z).
    { unfold depth, reach in *. pose proof (up_bounds (Z.max 0 (Z.abs z - core f)) (width f)). nia. }
    pose proof (level_floor w0) as Hf. unfold lev, level_from in *.
    rewrite Z.min_r by lia. rewrite Z.min_id in Hf. lia.
  Qed.

  Lemma excess_core : forall z, Z.abs z <= core f -> excess z = w0 - floor.
  Proof.
    intros z Hz. unfold excess. destruct parts as [_ [Hc _]].
    assert (Hd : depth z = 0).
    { unfold depth. pose proof (up_bounds (Z.max 0 (Z.abs z - core f)) (width f)). nia. }
    rewrite Hd, lev_zero. reflexivity.
  Qed.

  (** The points r+1 … r+n·v, and their mirror images, are n layers of v points each. *)
  Lemma side_right : forall n, Z.of_nat n <= T ->
    total (count_from (n * Z.to_nat (width f)) (core f + 1)) excess
    = width f * total (firstn n later) (fun w => w - floor).
  Proof.
    destruct parts as [_ [Hc _]].
    induction n as [|n IH]; intros Hn; [unfold total; simpl; lia|].
    replace (S n * Z.to_nat (width f))%nat with (n * Z.to_nat (width f) + Z.to_nat (width f))%nat by lia.
    rewrite count_from_app, total_app, IH by lia.
    rewrite (total_ext _ (count_from (Z.to_nat (width f)) _) _ (fun _ => lev (Z.of_nat (S n)) - floor)).
    - rewrite total_const.
      assert (Hnth : lev (Z.of_nat (S n)) = nth n later 0).
      { unfold lev, level_from. rewrite Z.min_l by lia. now rewrite Nat2Z.id. }
      rewrite Hnth. unfold T in Hn.
      assert (Hfirst : forall k m, (m < length k)%nat ->
        total (firstn (S m) k) (fun w => w - floor) = total (firstn m k) (fun w => w - floor) + (nth m k 0 - floor)).
      { induction k as [|a k IHk]; intros m Hm; [simpl in Hm; lia|].
        destruct m as [|m]; [cbn; lia|].
        rewrite !firstn_cons, !total_cons, IHk by (simpl in Hm; lia). cbn [nth]. lia. }
      rewrite Hfirst by lia. nia.
    - intros z Hz. apply in_count_from in Hz. unfold excess. do 2 f_equal.
      apply depth_is; [lia|]. nia.
  Qed.

  Lemma excess_even : forall z, excess (- z) = excess z.
  Proof. intros. unfold excess, depth. now rewrite Z.abs_opp. Qed.

  Lemma total_mirror : forall n i g, (forall z, g (- z) = g z) ->
    total (count_from n (- (i + Z.of_nat n) + 1)) g = total (count_from n i) g.
  Proof.
    induction n as [|n IH]; intros i g Hg; [reflexivity|].
    replace (S n) with (n + 1)%nat at 1 by lia. rewrite count_from_app, total_app.
    cbn [count_from]. rewrite !total_cons.
    replace (- (i + Z.of_nat (S n)) + 1 + Z.of_nat n) with (- i) by lia. rewrite Hg.
    replace (- (i + Z.of_nat (S n)) + 1) with (- (i + 1 + Z.of_nat n) + 1) by lia.
    rewrite IH by exact Hg. unfold total at 2. simpl. lia.
  Qed.

  Lemma excess_sum : total (count_from (Z.to_nat (2 * reach + 1)) (- reach)) excess
    = centre * (w0 - floor) + layers.
  Proof.
    destruct parts as [_ [Hc _]]. pose proof T_pos as HT.
    set (n := (Z.to_nat T * Z.to_nat (width f))%nat).
    assert (Hn : Z.of_nat n = T * width f) by (unfold n; nia).
    replace (Z.to_nat (2 * reach + 1)) with (n + (Z.to_nat centre + n))%nat
      by (unfold reach, centre; lia).
    rewrite !count_from_app, !total_app.
    replace (- reach + Z.of_nat n) with (- core f) by (unfold reach; lia).
    replace (- core f + Z.of_nat (Z.to_nat centre)) with (core f + 1) by (unfold centre; lia).
    replace (- reach) with (- (core f + 1 + Z.of_nat n) + 1) by (unfold reach; lia).
    rewrite total_mirror by apply excess_even.
    assert (Hside : total (count_from n (core f + 1)) excess = width f * total later (fun w => w - floor)).
    { unfold n. rewrite side_right by lia. f_equal. unfold T. rewrite Nat2Z.id, firstn_all. reflexivity. }
    rewrite Hside.
    rewrite (total_ext _ (count_from (Z.to_nat centre) _) _ (fun _ => w0 - floor)).
    - rewrite total_const. unfold layers, centre. rewrite Z2Nat.id by lia. lia.
    - intros z Hz. apply in_count_from in Hz. apply excess_core. unfold centre in Hz. lia.
  Qed.

  (** "A row sums to Σ_t N_t·(w_t - w_T) + w_T·(points of the box), the same for all answers." *)
  Theorem noise_rows : forall x, 0 <= x <= people f -> total points (W x) = 2 ^ bits f.
  Proof.
    intros x Hx. destruct parts as [_ [Hc _]]. pose proof T_pos as HT.
    assert (Hr : 0 <= reach) by (unfold reach; nia).
    rewrite (total_ext _ _ _ (fun y => (excess (y - x) + floor) + (if y =? x then odd else 0)))
      by (intros; unfold W, excess; lia).
    rewrite !total_add. unfold points. rewrite total_const.
    (* The middle point is counted once. *)
    assert (Hodd : total (count_from (Z.to_nat box) (- reach)) (fun y => if y =? x then odd else 0) = odd).
    { replace (Z.to_nat box) with (Z.to_nat (reach + x) + (1 + Z.to_nat (box - reach - x - 1)))%nat
        by (unfold box; lia).
      rewrite !count_from_app, !total_app. cbn [count_from].
      rewrite (total_ext _ (count_from _ (- reach)) _ (fun _ => 0)).
      - rewrite total_const. rewrite total_cons.
        replace (- reach + Z.of_nat (Z.to_nat (reach + x))) with x by lia. rewrite Z.eqb_refl.
        rewrite (total_ext _ (count_from _ _) _ (fun _ => 0)).
        + rewrite total_const. unfold total. simpl. lia.
        + intros z Hz. apply in_count_from in Hz. destruct (z =? x) eqn:E; [apply Z.eqb_eq in E; lia | reflexivity].
      - intros z Hz. apply in_count_from in Hz. destruct (z =? x) eqn:E; [apply Z.eqb_eq in E; lia | reflexivity]. }
    rewrite Hodd, (total_shift _ _ x excess).
    (* Beyond the reach of x there is nothing above the floor. *)
    replace (Z.to_nat box) with (Z.to_nat x + (Z.to_nat (2 * reach + 1) + Z.to_nat (people f - x)))%nat
      by (unfold box; lia).
    rewrite !count_from_app, !total_app.
    rewrite (total_ext _ (count_from (Z.to_nat x) _) _ (fun _ => 0))
      by (intros z Hz; apply in_count_from in Hz; apply excess_beyond; lia).
    rewrite (total_ext _ (count_from (Z.to_nat (people f - x)) _) _ (fun _ => 0))
      by (intros z Hz; apply in_count_from in Hz; apply excess_beyond; lia).
    rewrite !total_const.
    replace (- reach - x + Z.of_nat (Z.to_nat x)) with (- reach) by lia. rewrite excess_sum.
    pose proof (Z.div_mod left_over centre ltac:(unfold centre; lia)) as Hdiv.
    unfold w0, odd in *. unfold left_over in Hdiv at 1. unfold box in *.
    rewrite !Nat2Z.inj_add, !Z2Nat.id by lia. lia.
  Qed.
End Noise.

(** ** For the real ε

    "What is reported of y may depend on y alone": each column is private, so sums of columns are
    ([private_sum]), and holding a number between its ends adds up columns. *)
Section Real.
Variable F : numbers.
Add Ring ring_of_lattice : (ring_laws F).

(** Integers w over D whose row is D are probabilities, and a ratio of integers is one of reals. *)
Lemma real_row : forall A (L : list A) (w : A -> Z) D, 0 < D -> total L w = D ->
  sum L (fun y => mul (of_Z (w y)) (over D)) = (one : F).
Proof.
  intros A L w D HD H.
  transitivity (mul (sum L (fun y => (of_Z (w y) : F))) (over D)).
  - clear H. induction L as [|y L IH]; simpl; [|rewrite IH]; ring.
  - rewrite <- sum_of_Z. change (total L (fun y => w y)) with (total L w). rewrite H. now apply (over_law F).
Qed.

Lemma real_ratio : forall (E : F) w v p q D, 0 < q -> 0 < D -> 0 <= v -> w * q <= v * p ->
  le (of_Z p) (mul E (of_Z q)) ->
  le (mul (of_Z w) (over D)) (mul E (mul (of_Z v) (over D))).
Proof.
  intros E w v p q D Hq HD Hv Hw HE. apply (le_cancel F q); [exact Hq|].
  replace (mul (of_Z q) (mul (of_Z w) (over D))) with (mul (over D) (mul (of_Z w) (of_Z q)) : F) by ring.
  replace (mul (of_Z q) (mul E (mul (of_Z v) (over D))))
    with (mul (over D) (mul (of_Z v) (mul E (of_Z q)))) by ring.
  apply mul_le_l; [now apply over_nonneg|].
  apply (le_trans F _ (mul (of_Z v) (of_Z p))).
  - rewrite <- !(of_Z_mul F). now apply (of_Z_le F).
  - apply mul_le_l; [now apply of_Z_nonneg | exact HE].
Qed.

Theorem noise_sound : forall f l, check_noise f l = true ->
  forall E : F, is_exp E l ->
  (forall x, 0 <= x <= people f ->
     sum (points f) (fun y => mul (of_Z (W f x y)) (over (2 ^ bits f))) = (one : F)) /\
  (forall y, private F Z (range (people f + 1)) (within (width f)) (fun _ _ => E)
     (fun x => mul (of_Z (W f x y)) (over (2 ^ bits f)))).
Proof.
  intros f l H E HE. pose proof (parts f l H) as P.
  destruct P as [Hp [Hc [Hbits [Hpq [Hs [Hb _]]]]]].
  assert (Hpos : 0 < 2 ^ bits f) by (apply Z.pow_pos_nonneg; lia).
  pose proof (below_exp F l _ _ E Hs Hb HE) as Hratio.
  split.
  - intros x Hx. apply real_row; [exact Hpos | now apply (noise_rows f l)].
  - intros y. split.
    + intros x _. apply (le_mul F); [apply of_Z_nonneg; now apply (W_nonneg f l) | now apply over_nonneg].
    + intros x h _ _ Hxh. unfold within in Hxh. apply andb_prop in Hxh as [_ Hxh]. apply Z.leb_le in Hxh.
      apply (real_ratio E _ _ (top_of f) (bottom_of f)); try lia; try assumption;
        [now apply (W_nonneg f l) | now apply (noise_private f l H)].
Qed.
End Real.
