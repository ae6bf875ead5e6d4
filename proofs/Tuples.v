(** * Noise on tuples (_lattice_ weights of counts and histograms)

    W[x,y] = w[min(t, T)] for the points y around the answers, where t is the distance of y from the
    answer x in the lattice of the question (Layers.v). As on a line (Lattice.v) the file names w_1,
    every further level is ⌈w·q/p⌉, T is the first that stays as it is, and w_0 is what is left to
    2^bits. The first layer is the answer alone. *)

From Coq Require Import ZArith List Lia Bool.
From Tightrope Require Import Numbers Duality Exponential Questions Lattice Layers.
Import ListNotations.
Open Scope Z_scope.

Inductive form := Cube | Range | Cross | Roots.

(** The lattice of a question: its form, how many numbers a point has, and the largest of them. People
    who are absent are one more number, which answers do not show. *)
Definition lattice_of (q : question) (r : relation) : option (form * nat * Z) :=
  match q, r with
  | Counts n k, AddRemove => Some (Range, Z.to_nat k, n)
  | Counts n k, _ => Some (Cube, Z.to_nat k, n)
  | Histogram n c, ChangeOne => Some (Roots, Z.to_nat c, n)
  | Histogram n c, AddRemove => Some (Cross, Z.to_nat c, n)
  | Histogram n c, Either => Some (Roots, S (Z.to_nat c), n)
  | _, _ => None
  end.
Definition in_lattice (q : question) (r : relation) (x : list Z) : list Z :=
  match q, r with Histogram n _, Either => n - sum_of x :: x | _, _ => x end.

(** The distance of a point from the origin. *)
Definition norm (s : form) (z : list Z) : Z :=
  match s with Cube => cube z | Range => spread z | Cross => cross z | Roots => rising z end.

(** The sum of a weight by distance over all points. *)
Definition whole (s : form) (k : nat) (e : list Z) : Z :=
  match s with
  | Cube => by_balls (fun t => (2 * t + 1) ^ Z.of_nat k) 0 e
  | Range => by_balls (fun t => (t + 1) ^ Z.of_nat (S k) - t ^ Z.of_nat (S k)) 0 e
  | Cross => at_ (widened_by k e) 0
  | Roots => roots_sum k e
  end.

Section Noise.
  Variable f : noise.     (* width and core of a line are not used *)
  Variable s : form.
  Variable k : nat.

  (** The points around the answers, and how many they are. *)
  Definition around : list (list Z) :=
    match s with
    | Roots => filter (fun y => sum_of y =? people f) (grid k (- T f) (people f + Z.of_nat k * T f))
    | _ => grid k (- T f) (people f + T f)
    end.
  Definition size : Z :=
    match s with
    | Roots => rise (people f + Z.of_nat k * T f) (pred k) / factorial (pred k)
    | _ => (people f + 1 + 2 * T f) ^ Z.of_nat k
    end.
  Definition above_floor : list Z := let lowest := floor f in map (fun w => w - lowest) (later f).
  Definition rest : Z := 2 ^ bits f - floor f * size - whole s k (0 :: above_floor).
  Definition first_level : Z := rest + floor f.

  Definition check_tuples (l : level) : bool :=
    (0 <=? people f) && Nat.ltb 0 k && (0 <=? bits f) && (0 <? bottom_of f) &&
    (bottom_of f <=? top_of f) && sound l && below l (top_of f) (bottom_of f) &&
    (whole s k [1] =? 1) &&
    let w := first_level in (floor f <? w) && steady (top_of f) (bottom_of f) w (later f).

  Definition weigh (x y : list Z) : Z := level_from f first_level (norm s (differences y x)).

  Variable l : level.
  Hypothesis checked : check_tuples l = true.

  Lemma checks : 0 <= people f /\ (0 < k)%nat /\ 0 <= bits f /\ 0 < bottom_of f <= top_of f
    /\ sound l = true /\ below l (top_of f) (bottom_of f) = true /\ whole s k [1] = 1
    /\ steady (top_of f) (bottom_of f) first_level (later f) = true.
  Proof.
    unfold check_tuples in checked. cbv zeta in checked.
    repeat match goal with
      | H : _ && _ = true |- _ => apply andb_prop in H as [? ?]
      | H : (_ <=? _) = true |- _ => apply Z.leb_le in H
      | H : (_ <? _) = true |- _ => apply Z.ltb_lt in H
      | H : Nat.ltb _ _ = true |- _ => apply Nat.ltb_lt in H
      | H : (_ =? _) = true |- _ => apply Z.eqb_eq in H end.
    tauto.
  Qed.

  Lemma norm_nonneg : forall z, 0 <= norm s z.
  Proof.
    intros z. pose proof (top_nonneg z). pose proof (top_nonneg (negated z)).
    destruct s; cbn [norm]; [unfold cube; lia | unfold spread; lia | apply cross_nonneg | apply rising_nonneg].
  Qed.

  (** ** One step changes the distance by at most 1 *)
  Lemma top_between : forall y x h, length y = length x -> length x = length h ->
    top (differences y h) <= top (differences y x) + top (differences x h).
  Proof.
    induction y as [|a y IH]; intros [|b x] [|c h] H1 H2; try discriminate.
    cbn [differences combine map fst snd top fold_right].
    fold (differences y h) (differences y x) (differences x h).
    fold (top (differences y h)) (top (differences y x)) (top (differences x h)).
    specialize (IH x h ltac:(now inversion H1) ltac:(now inversion H2)). lia.
  Qed.

  Lemma negated_differences : forall y x, negated (differences y x) = differences x y.
  Proof.
    induction y as [|a y IH]; intros [|b x]; try reflexivity.
    cbn [differences negated combine map fst snd]. f_equal; [lia|]. apply IH.
  Qed.

  Lemma added_between : forall (g : Z -> Z), (forall a b, g (a + b) <= g a + g b) -> g 0 = 0 ->
    forall y x h, length y = length x -> length x = length h ->
    fold_right (fun c sum => g c + sum) 0 (differences y h)
    <= fold_right (fun c sum => g c + sum) 0 (differences y x)
       + fold_right (fun c sum => g c + sum) 0 (differences x h).
  Proof.
    intros g Hg Hg0. induction y as [|a y IH]; intros [|b x] [|c h] H1 H2; try discriminate.
    cbn [differences combine map fst snd fold_right].
    fold (differences y h) (differences y x) (differences x h).
    specialize (IH x h ltac:(now inversion H1) ltac:(now inversion H2)).
    specialize (Hg (a - b) (b - c)). replace (a - b + (b - c)) with (a - c) in Hg by lia. lia.
  Qed.

  Lemma norm_between : forall y x h, length y = length x -> length x = length h ->
    norm s (differences y h) <= norm s (differences y x) + norm s (differences x h).
  Proof.
    intros y x h H1 H2. pose proof (top_between y x h H1 H2).
    pose proof (top_between h x y ltac:(congruence) ltac:(congruence)).
    destruct s; cbn [norm]; unfold cube, spread; rewrite ?negated_differences; try lia.
    - unfold cross. apply (added_between Z.abs); auto; intros; lia.
    - unfold rising. apply (added_between (Z.max 0)); auto; intros; lia.
  Qed.

  (** "One step changes t by at most 1, and the levels fall by at most p/q." *)
  Theorem tuples_private : forall x h y, length y = length x -> length x = length h ->
    norm s (differences x h) <= 1 -> weigh x y * bottom_of f <= weigh h y * top_of f.
  Proof.
    intros x h y H1 H2 Hstep. destruct checks as [_ [_ [_ [Hpq [_ [_ [_ Hs]]]]]]].
    pose proof (norm_between y x h H1 H2). unfold weigh.
    pose proof (norm_nonneg (differences y x)). pose proof (norm_nonneg (differences y h)).
    pose proof (level_step f _ Hpq Hs (norm s (differences y x)) ltac:(lia)).
    pose proof (level_fall f _ Hpq Hs (norm s (differences y h)) (norm s (differences y x) + 1) ltac:(lia)). nia.
  Qed.

  Lemma weigh_nonneg : forall x y, 0 <= weigh x y.
  Proof.
    intros. destruct checks as [_ [_ [_ [Hpq [_ [_ [_ Hs]]]]]]]. pose proof (norm_nonneg (differences y x)).
    apply (level_fall f _ Hpq Hs (norm s (differences y x)) (norm s (differences y x))). lia.
  Qed.

  (** ** Every row has the same sum *)
  Definition is_answer (x : list Z) : Prop :=
    length x = k /\ Forall (fun c => 0 <= c <= people f) x /\ (s = Roots -> sum_of x = people f).

  Lemma norm_reach : forall z R, 0 <= R -> s <> Roots -> norm s z <= R -> Forall (fun c => - R <= c <= R) z.
  Proof.
    intros z R HR Hs Hz. pose proof (top_nonneg z). pose proof (top_nonneg (negated z)).
    assert (Hboth : top z <= R /\ top (negated z) <= R -> Forall (fun c => - R <= c <= R) z).
    { intros [Ha Hb]. apply top_bound in Ha; [|lia]. apply bottom_bound in Hb; [|lia].
      generalize (Forall_both _ _ _ _ Ha Hb). apply Forall_impl. intros; lia. }
    destruct s; cbn [norm] in Hz; [unfold cube in Hz; apply Hboth; lia | unfold spread in Hz; apply Hboth; lia | |].
    - clear - Hz. revert R Hz. induction z as [|c z IH]; intros R Hz; constructor.
      + cbn [cross fold_right] in Hz. fold (cross z) in Hz. pose proof (cross_nonneg z). lia.
      + apply IH. cbn [cross fold_right] in Hz. fold (cross z) in Hz. lia.
    - contradiction.
  Qed.

  Lemma rising_reach : forall z R, rising z <= R -> rising (negated z) <= R -> Forall (fun c => - R <= c <= R) z.
  Proof.
    induction z as [|c z IH]; intros R H1 H2; constructor.
    - cbn [rising negated map fold_right] in *. fold (rising z) (negated z) (rising (negated z)) in *.
      pose proof (rising_nonneg z). pose proof (rising_nonneg (negated z)). lia.
    - cbn [rising negated map fold_right] in *. fold (rising z) (negated z) (rising (negated z)) in *.
      apply IH; lia.
  Qed.

  Lemma sum_differences : forall y x, length y = length x -> sum_of (differences y x) = sum_of y - sum_of x.
  Proof.
    induction y as [|a y IH]; intros [|b x] H; try discriminate; [reflexivity|].
    cbn [differences combine map fst snd sum_of fold_right]. fold (differences y x) (sum_of y) (sum_of x).
    fold (sum_of (differences y x)). rewrite IH by (now inversion H). lia.
  Qed.

  Lemma total_filter : forall A (L : list A) keep g,
    total (filter keep L) g = total L (fun a => if keep a then g a else 0).
  Proof.
    induction L as [|a L IH]; intros; [reflexivity|]. cbn [filter]. rewrite total_cons.
    destruct (keep a); [rewrite total_cons|]; rewrite IH; lia.
  Qed.

  (** "The sum of a weight by distance is the same for all answers." *)
  Theorem layers_around : forall x e, is_answer x -> e <> [] -> Z.of_nat (length e) <= T f + 1 ->
    total around (fun y => at_ e (norm s (differences y x))) = whole s k e.
  Proof.
    intros x e [Hlen [Hin Hsum]] Hne He. destruct checks as [Hp [Hk _]]. pose proof (T_pos f) as HT.
    assert (Hplain : s <> Roots -> total (grid k (- T f) (people f + T f)) (fun y => at_ e (norm s (differences y x)))
      = total (grid k (- T f) (T f)) (fun z => at_ e (norm s z))).
    { intros Hs. apply (grid_around k (people f) (T f) (people f + T f) (fun z => at_ e (norm s z))); auto; try lia.
      intros z Hz Hout. apply at_beyond. destruct (Z.le_gt_cases (norm s z) (T f)); [|lia].
      exfalso. apply Hout. apply norm_reach; auto; lia. }
    assert (Hballs : forall far ball, (forall z, 0 <= far z) ->
      (forall t, 0 <= t <= T f -> total (grid k (- T f) (T f)) (fun z => if far z <=? t then 1 else 0) = ball t) ->
      total (grid k (- T f) (T f)) (fun z => at_ e (far z)) = by_balls ball 0 e).
    { intros far ball Hfar Hball. rewrite <- (by_balls_total _ (grid k (- T f) (T f)) far ball e 0); auto; try lia.
      - apply total_ext. intros z _. f_equal. specialize (Hfar z). lia.
      - intros t Ht. apply Hball. lia. }
    unfold around. destruct s eqn:Hs; cbn [whole].
    - rewrite Hplain by discriminate. apply Hballs.
      + intros z. pose proof (top_nonneg z). cbn [norm]. unfold cube. lia.
      + intros t Ht. apply cube_ball. lia.
    - rewrite Hplain by discriminate. apply Hballs.
      + intros z. pose proof (top_nonneg z). pose proof (top_nonneg (negated z)). cbn [norm]. unfold spread. lia.
      + intros t Ht. apply range_ball. lia.
    - rewrite Hplain by discriminate. rewrite <- (cross_total k e 0 (T f)) by lia. reflexivity.
    - rewrite total_filter. rewrite <- (roots_total k e (T f)) by (assumption || lia).
      set (g := fun z => if sum_of z =? 0 then at_ e (rising z) else 0).
      rewrite (total_ext _ _ _ (fun y => g (differences y x))).
      + apply (grid_around k (people f) (T f) (people f + Z.of_nat k * T f) g); auto; try nia.
        intros z Hz Hout. unfold g. destruct (sum_of z =? 0) eqn:E; [|reflexivity].
        apply Z.eqb_eq in E. rewrite sum_rising in E. apply at_beyond.
        destruct (Z.le_gt_cases (rising z) (T f)); [|lia].
        exfalso. apply Hout. apply rising_reach; lia.
      + intros y Hy. apply in_grid in Hy as [Hy _]. unfold g. rewrite sum_differences by congruence.
        rewrite Hsum by reflexivity. cbn [norm].
        replace (sum_of y - people f =? 0) with (sum_of y =? people f); [reflexivity|].
        apply eq_true_iff_eq. rewrite !Z.eqb_eq. lia.
  Qed.

  Lemma size_is : total around (fun _ => 1) = size.
  Proof.
    destruct checks as [Hp [Hk _]]. pose proof (T_pos f) as HT.
    assert (Hgrid : total (grid k (- T f) (people f + T f)) (fun _ => 1) = (people f + 1 + 2 * T f) ^ Z.of_nat k).
    { rewrite grid_size by lia. f_equal. lia. }
    unfold around, size. destruct s; try exact Hgrid.
    rewrite total_filter. destruct k as [|m]; [lia|]. cbn [pred].
    rewrite <- (one_sum m (T f) (people f + Z.of_nat (S m) * T f) (people f)) by nia.
    rewrite (Z.mul_comm (factorial m)), Z.div_mul; [reflexivity|]. pose proof (factorial_pos m). lia.
  Qed.

  Lemma weigh_is : forall x y,
    weigh x y = at_ (first_level - floor f :: above_floor) (norm s (differences y x)) + floor f.
  Proof.
    intros x y. unfold weigh. pose proof (norm_nonneg (differences y x)) as Ht.
    generalize dependent (norm s (differences y x)). intros t Ht. pose proof (T_pos f) as HT.
    change (first_level - floor f :: above_floor) with (map (fun w => w - floor f) (first_level :: later f)).
    destruct (Z.le_gt_cases t (T f)) as [Hle|Hgt].
    - unfold level_from, at_. rewrite Z.min_l by lia.
      rewrite (nth_indep (map _ _) 0 (0 - floor f)) by (rewrite map_length; cbn [length]; unfold T in *; lia).
      rewrite (map_nth (fun w => w - floor f)). lia.
    - rewrite at_beyond by (rewrite map_length; cbn [length]; unfold T in *; lia).
      pose proof (level_floor f first_level) as Hf. unfold level_from in *.
      rewrite Z.min_id in Hf. rewrite Z.min_r by lia. lia.
  Qed.

  (** "A row sums to Σ_t N_t·(w_t - w_T) + w_T·(points around), the same for all answers." *)
  Theorem tuples_rows : forall x, is_answer x -> total around (weigh x) = 2 ^ bits f.
  Proof.
    intros x Hx. destruct checks as [_ [_ [_ [_ [_ [_ [Hone _]]]]]]]. pose proof (T_pos f) as HT.
    rewrite (total_ext _ _ _ (fun y => rest * at_ [1] (norm s (differences y x))
      + (at_ (0 :: above_floor) (norm s (differences y x)) + floor f * 1))).
    - rewrite total_add, !total_mul, total_add, total_mul, size_is.
      rewrite !layers_around; auto; try discriminate.
      + rewrite Hone. unfold rest. lia.
      + unfold above_floor. cbn [length]. rewrite map_length. unfold T. lia.
      + cbn [length]. lia.
    - intros y _. rewrite weigh_is. pose proof (norm_nonneg (differences y x)).
      assert (Hcons : forall w e t, at_ (w :: e) t = w * at_ [1] t + at_ (0 :: e) t).
      { intros w e t. unfold at_. destruct (Z.to_nat t) as [|n]; cbn [nth]; [lia|]. destruct n; lia. }
      rewrite (Hcons (first_level - floor f)). unfold first_level. lia.
  Qed.
End Noise.

(** ** Answers of a question are points of its lattice, and neighbours are one step apart *)
Lemma in_tuples : forall n k x, In x (tuples (repeat (n + 1) k)) ->
  length x = k /\ Forall (fun c => 0 <= c <= n) x.
Proof.
  induction k as [|k IH]; intros x Hx; cbn [repeat tuples] in Hx.
  - destruct Hx as [<-|[]]. now split.
  - apply in_flat_map in Hx as [c [Hc Hx]]. apply in_map_iff in Hx as [y [<- Hy]].
    apply IH in Hy as [H1 H2]. apply in_range in Hc. split; [simpl; now f_equal | constructor; [lia | exact H2]].
Qed.

Lemma wider : forall (x : list Z) a b, a <= b -> Forall (fun c => 0 <= c <= a) x -> Forall (fun c => 0 <= c <= b) x.
Proof. intros x a b H. apply Forall_impl. intros; lia. Qed.

Lemma in_exactly : forall k n x, 0 <= n -> In x (exactly k n) ->
  length x = k /\ Forall (fun c => 0 <= c <= n) x /\ sum_of x = n.
Proof.
  induction k as [|k IH]; intros n x Hn Hx; [destruct Hx|]. destruct k as [|k].
  - destruct Hx as [<-|[]]. cbn. repeat split; [repeat constructor; lia | lia].
  - change (exactly (S (S k)) n) with (flat_map (fun c => map (cons c) (exactly (S k) (n - c))) (range (n + 1))) in Hx.
    apply in_flat_map in Hx as [c [Hc Hx]]. apply in_map_iff in Hx as [y [<- Hy]]. apply in_range in Hc.
    apply IH in Hy as [H1 [H2 H3]]; [|lia]. cbn [length sum_of fold_right]. fold (sum_of y).
    split; [now f_equal|]. split; [|lia]. constructor; [lia|]. apply (wider y (n - c)); [lia | exact H2].
Qed.

Lemma in_at_most : forall k n x, 0 <= n -> In x (at_most k n) ->
  length x = k /\ Forall (fun c => 0 <= c <= n) x /\ 0 <= sum_of x <= n.
Proof.
  induction k as [|k IH]; intros n x Hn Hx; cbn [at_most] in Hx.
  - destruct Hx as [<-|[]]. cbn. repeat split; [constructor | lia | lia].
  - apply in_flat_map in Hx as [c [Hc Hx]]. apply in_map_iff in Hx as [y [<- Hy]]. apply in_range in Hc.
    apply IH in Hy as [H1 [H2 H3]]; [|lia]. cbn [length sum_of fold_right]. fold (sum_of y).
    split; [now f_equal|]. split; [|lia]. constructor; [lia|]. apply (wider y (n - c)); [lia | exact H2].
Qed.

Theorem lattice_answers : forall q r f s k x, lattice_of q r = Some (s, k, people f) -> 0 <= people f ->
  In x (answers_of q r) -> is_answer f s k (in_lattice q r x).
Proof.
  intros q r f s k x H Hp Hx. unfold is_answer.
  destruct q; destruct r; cbn [lattice_of] in H; try discriminate; inversion H; subst; cbn [answers_of in_lattice] in *;
    try (apply in_tuples in Hx as [H1 H2]; now repeat split).
  - apply in_exactly in Hx as [H1 [H2 H3]]; [|assumption]. now repeat split.
  - apply in_at_most in Hx as [H1 [H2 H3]]; [|assumption]. now repeat split.
  - apply in_at_most in Hx as [H1 [H2 H3]]; [|assumption]. split; [simpl; now f_equal|].
    split; [constructor; [lia | exact H2]|]. intros _. cbn [sum_of fold_right]. fold (sum_of x). lia.
Qed.

(** Numbers that are 0 add nothing. *)
Lemma added_others : forall (g : Z -> Z), g 0 = 0 -> forall d,
  fold_right (fun c sum => g c + sum) 0 (others d) = fold_right (fun c sum => g c + sum) 0 d.
Proof.
  intros g Hg. induction d as [|c d IH]; [reflexivity|]. unfold others in *. cbn [filter].
  destruct (Z.eqb_spec c 0) as [->|Hne]; cbn [negb fold_right]; lia.
Qed.
Definition cross_others : forall d, cross (others d) = cross d := added_others Z.abs eq_refl.
Definition rising_others : forall d, rising (others d) = rising d := added_others (Z.max 0) eq_refl.
Definition sum_others : forall d, sum_of (others d) = sum_of d := added_others (fun c => c) eq_refl.

Lemma one_moved : forall d, match others d with [z] => Z.abs z =? 1 | _ => false end = true ->
  cross d = 1 /\ rising d + Z.max 0 (- sum_of d) = 1.
Proof.
  intros d H. rewrite <- cross_others, <- rising_others, <- sum_others.
  destruct (others d) as [|z [|]]; try discriminate. apply Z.eqb_eq in H. cbn. lia.
Qed.
Lemma two_moved : forall d, match others d with [y; z] => (Z.abs y =? 1) && (y + z =? 0) | _ => false end = true ->
  rising d = 1 /\ sum_of d = 0.
Proof.
  intros d H. rewrite <- rising_others, <- sum_others.
  destruct (others d) as [|y [|z [|]]]; try discriminate. apply andb_prop in H as [H1 H2].
  apply Z.eqb_eq in H1, H2. cbn. lia.
Qed.

Lemma within_one : forall (d : list Z) a b, forallb (fun z => (a <=? z) && (z <=? b)) d = true -> 0 <= b -> top d <= b.
Proof.
  intros d a b H Hb. apply top_bound; [assumption|]. rewrite forallb_forall in H. apply Forall_forall.
  intros c Hc. specialize (H c Hc). apply andb_prop in H as [_ H]. now apply Z.leb_le in H.
Qed.

Lemma joined_spread : forall n x y, joins n x y = true -> spread (differences x y) <= 1.
Proof.
  intros n x y H. unfold joins in H. apply andb_prop in H as [H _]. unfold spread. rewrite negated_differences.
  pose proof (within_one _ _ _ H ltac:(lia)). assert (top (differences x y) <= 0); [|lia].
  apply top_bound; [lia|]. rewrite <- negated_differences. unfold negated. rewrite Forall_map.
  apply Forall_forall. intros c Hc. rewrite forallb_forall in H. specialize (H c Hc).
  apply andb_prop in H as [H _]. apply Z.leb_le in H. lia.
Qed.

Theorem lattice_steps : forall q r s k n x y, lattice_of q r = Some (s, k, n) ->
  length x = length y -> near_answers q r x y = true ->
  norm s (differences (in_lattice q r x) (in_lattice q r y)) <= 1.
Proof.
  intros q r s k n x y H Hlen Hn.
  assert (Hcube : forallb (fun z => Z.abs z <=? 1) (differences x y) = true -> cube (differences x y) <= 1).
  { intros Hall. rewrite forallb_forall in Hall. unfold cube. apply Z.max_lub.
    - apply top_bound; [lia|]. apply Forall_forall. intros c Hc. specialize (Hall c Hc). apply Z.leb_le in Hall. lia.
    - apply bottom_bound; [lia|]. apply Forall_forall. intros c Hc. specialize (Hall c Hc). apply Z.leb_le in Hall. lia. }
  destruct q; destruct r; cbn [lattice_of] in H; try discriminate; inversion H; subst;
    cbn [near_answers in_lattice norm] in *; try (apply andb_prop in Hn as [_ Hn]); try (now apply Hcube).
  - apply orb_prop in Hn as [Hn|Hn]; [now apply (joined_spread n)|].
    apply joined_spread in Hn. unfold spread in *. rewrite negated_differences in *. lia.
  - apply two_moved in Hn. lia.
  - apply one_moved in Hn. lia.
  - unfold differences. cbn [combine map fst snd]. fold (differences x y).
    cbn [rising fold_right]. fold (rising (differences x y)).
    replace (n - sum_of x - (n - sum_of y)) with (- sum_of (differences x y))
      by (rewrite sum_differences by assumption; lia).
    unfold moved in Hn. apply orb_prop in Hn as [Hn|Hn]; [apply one_moved in Hn | apply two_moved in Hn]; lia.
Qed.

(** ** For the real ε *)
Section Real.
Variable F : numbers.

Theorem tuples_sound : forall q r f s k l, lattice_of q r = Some (s, k, people f) ->
  check_tuples f s k l = true -> forall E : F, is_exp E l ->
  let W x y := mul (of_Z (weigh f s k (in_lattice q r x) y)) (over (2 ^ bits f)) in
  (forall x, In x (answers_of q r) -> sum (around f s k) (W x) = (one : F)) /\
  (forall y, length y = k ->
     private F (list Z) (answers_of q r) (near_answers q r) (fun _ _ => E) (fun x => W x y)).
Proof.
  intros q r f s k l Hq H E HE W. pose proof (checks f s k l H) as C.
  destruct C as [Hp [Hk [Hbits [Hpq [Hs [Hb _]]]]]].
  assert (Hpos : 0 < 2 ^ bits f) by (apply Z.pow_pos_nonneg; lia).
  pose proof (below_exp F l _ _ E Hs Hb HE) as Hratio.
  split.
  - intros x Hx. pose proof (lattice_answers q r f s k x Hq Hp Hx) as Ha.
    apply real_row; [exact Hpos | now apply (tuples_rows f s k l)].
  - intros y Hy. split.
    + intros x _. apply (le_mul F); [apply of_Z_nonneg; now apply (weigh_nonneg f s k l) | now apply over_nonneg].
    + intros x h Hx Hh Hxh.
      pose proof (lattice_answers q r f s k x Hq Hp Hx) as [Hx' _].
      pose proof (lattice_answers q r f s k h Hq Hp Hh) as [Hh' _].
      assert (Hlen : length x = length h).
      { unfold in_lattice in *. destruct q; destruct r; simpl in *; congruence. }
      pose proof (lattice_steps q r s k (people f) x h Hq Hlen Hxh) as Hstep.
      apply (real_ratio F E _ _ (top_of f) (bottom_of f)); try lia; try assumption;
        [now apply (weigh_nonneg f s k l)|].
      apply (tuples_private f s k l H); congruence || assumption.
Qed.
End Real.
