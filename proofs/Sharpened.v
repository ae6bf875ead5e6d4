(** * A finer number after a coarse one that is published (_sharpened_ weights)

    w₁ are the weights of the coarse noise on a line, w₂ those of the finer noise (Lattice.v), both by
    the distance of a point from the answer. The finer output o₂ is drawn when the coarse one o₁ is
    published already. With a kernel k that is 0 beyond K, and R(d) = S·w₁(d) - Σ_j w₂(d-j)·k(j), the
    pair has the weights P[x,(o₁,o₂)] = w₂(x-o₂)·k(o₁-o₂), and R(x-o₁) more where o₁ = o₂. *)

From Coq Require Import ZArith List Ring Lia Bool.
From Tightrope Require Import Numbers Duality Exponential Questions Lattice Layers.
Import ListNotations.
Open Scope Z_scope.

(** ** Sums of products, without looking up places in lists *)
Fixpoint dot (a b : list Z) : Z :=
  match a, b with x :: a', y :: b' => x * y + dot a' b' | _, _ => 0 end.
Fixpoint slide (kernel : list Z) (n : nat) (ws : list Z) : list Z :=
  match n with O => [] | S m => dot kernel ws :: slide kernel m (tl ws) end.
(** None is negative, and neighbours are within p/q. *)
Fixpoint gentle (p q : Z) (l : list Z) : bool :=
  match l with
  | [] => true
  | x :: rest =>
      (0 <=? x) && match rest with [] => true | y :: _ => (x * q <=? y * p) && (y * q <=? x * p) end
      && gentle p q rest
  end.

Lemma dot_total : forall n m i j (g h : Z -> Z),
  dot (map g (count_from n i)) (map h (count_from (n + m) j)) = total (count_from n i) (fun z => g z * h (z - i + j)).
Proof.
  induction n as [|n IH]; intros m i j g h; [reflexivity|].
  cbn [Nat.add count_from map dot]. rewrite total_cons, IH. f_equal; [do 2 f_equal; lia|].
  apply total_ext. intros z _. do 2 f_equal. lia.
Qed.

Lemma slide_is : forall n width i j (g h : Z -> Z),
  slide (map g (count_from width i)) n (map h (count_from (n + width) (i + j)))
  = map (fun d => total (count_from width i) (fun z => g z * h (d + z))) (count_from n j).
Proof.
  induction n as [|n IH]; intros width i j g h; [reflexivity|].
  cbn [slide count_from map]. f_equal.
  - replace (S n + width)%nat with (width + S n)%nat by lia. rewrite dot_total. apply total_ext. intros. do 2 f_equal. lia.
  - cbn [Nat.add count_from map tl]. replace (i + j + 1) with (i + (j + 1)) by lia. apply IH.
Qed.

Lemma gentle_at : forall p q n j (g : Z -> Z), gentle p q (map g (count_from (S n) j)) = true ->
  (forall d, j <= d <= j + Z.of_nat n -> 0 <= g d) /\
  (forall d, j <= d < j + Z.of_nat n -> g d * q <= g (d + 1) * p /\ g (d + 1) * q <= g d * p).
Proof.
  intros p q. induction n as [|n IH]; intros j g H.
  - cbn in H. rewrite !andb_true_r in H. apply Z.leb_le in H. split; [|lia]. intros d Hd. now replace d with j by lia.
  - change (map g (count_from (S (S n)) j)) with (g j :: map g (count_from (S n) (j + 1))) in H.
    remember (map g (count_from (S n) (j + 1))) as rest eqn:Hrest. cbn [gentle] in H.
    apply andb_prop in H as [H Hothers]. apply andb_prop in H as [H0 Hnext]. apply Z.leb_le in H0.
    rewrite Hrest in Hnext. cbn [count_from map] in Hnext. apply andb_prop in Hnext as [H1 H2]. apply Z.leb_le in H1, H2.
    rewrite Hrest in Hothers. destruct (IH _ _ Hothers) as [Hpos Hsteps]. split.
    + intros d Hd. destruct (Z.eq_dec d j) as [->|Hne]; [exact H0 | apply Hpos; lia].
    + intros d Hd. destruct (Z.eq_dec d j) as [->|Hne]; [split; assumption | apply Hsteps; lia].
Qed.

Lemma span_negated : forall r g, 0 <= r -> total (span (- r) r) (fun z => g (- z)) = total (span (- r) r) g.
Proof.
  intros r g Hr. assert (Hparts : forall h, total (span (- r) r) h
    = total (span 1 r) (fun z => h (- z)) + (h 0 + total (span 1 r) h)).
  { intros h. rewrite (span_split (- r) (-1) r) by lia. rewrite span_mirror. f_equal.
    change (-1 + 1) with 0. rewrite (span_split 0 0 r) by lia. rewrite span_one. reflexivity. }
  rewrite !Hparts. rewrite (total_ext _ (span 1 r) (fun z => g (- - z)) g) by (intros; f_equal; lia). simpl (- 0). lia.
Qed.

Section Pair.
  Variables f g : noise.                      (* the finer and the coarse noise *)
  Variable scale : Z.                         (* S *)
  Variable kernel : list Z.                   (* k(0), k(1), … *)

  (** Noise on a line with steps of one, without a core. *)
  Definition plain (n : noise) : bool := (width n =? 1) && (core n =? 0).
  Definition weight_at (n : noise) (d : Z) : Z := lev n (Z.abs d).
  Definition kernel_at (d : Z) : Z := nth (Z.to_nat (Z.abs d)) kernel 0.
  Definition K : Z := Z.of_nat (length kernel).

  Definition spread (d : Z) : Z := total (span (- K) K) (fun j => kernel_at j * weight_at f (d + j)).
  Definition left_at (d : Z) : Z := scale * weight_at g d - spread d.
  Definition pair (x first second : Z) : Z :=
    weight_at f (x - second) * kernel_at (first - second) + (if first =? second then left_at (x - first) else 0).

  (** Behind this distance nothing changes. *)
  Definition last_change : Z := Z.max (T g) (T f + K).
  Definition left_list : list Z :=
    let n := S (Z.to_nat last_change) in
    let wide := Z.to_nat (2 * K + 1) in
    (* As [weight_at], with levels that are made once. *)
    let finer := w0 f :: later f in
    let finer_end := T f in
    let coarser := w0 g :: later g in
    let coarser_end := T g in
    map (fun both => scale * fst both - snd both)
      (combine (map (fun d => nth (Z.to_nat (Z.min (Z.abs d) coarser_end)) coarser 0) (count_from n 0))
        (slide (map kernel_at (count_from wide (- K))) n
          (map (fun d => nth (Z.to_nat (Z.min (Z.abs d) finer_end)) finer 0) (count_from (n + wide) (- K + 0))))).

  Definition check_pair (l : level) : bool :=
    check_noise f l && check_noise g l && plain f && plain g && (people f =? people g) && (0 <? scale) &&
    forallb (fun k => 0 <=? k) kernel && gentle (top_of f) (bottom_of f) left_list.

  Variable l : level.
  Hypothesis checked : check_pair l = true.

  Lemma pair_parts : check_noise f l = true /\ check_noise g l = true /\ (width f = 1 /\ core f = 0) /\ (width g = 1 /\ core g = 0)
    /\ people f = people g /\ 0 < scale /\ (forall d, 0 <= kernel_at d) /\ gentle (top_of f) (bottom_of f) left_list = true.
  Proof.
    unfold check_pair, plain in checked.
    repeat match goal with
      | H : _ && _ = true |- _ => apply andb_prop in H as [? ?]
      | H : (_ =? _) = true |- _ => apply Z.eqb_eq in H
      | H : (_ <? _) = true |- _ => apply Z.ltb_lt in H end.
    repeat split; auto. intros d. unfold kernel_at. rewrite forallb_forall in *.
    destruct (Nat.lt_ge_cases (Z.to_nat (Z.abs d)) (length kernel)) as [Hin|Hout].
    - match goal with H : forall k, In k kernel -> _ |- _ => specialize (H _ (nth_In kernel 0 Hin)) end. now apply Z.leb_le.
    - rewrite nth_overflow by exact Hout. lia.
  Qed.

  Lemma weight_is : forall n, check_noise n l = true -> width n = 1 -> core n = 0 ->
    forall x y, W n x y = weight_at n (y - x).
  Proof.
    intros n Hn Hw Hc x y. unfold W, weight_at, depth. rewrite Hw, Hc, Z.sub_0_r. rewrite Z.max_r by lia.
    replace (up (Z.abs (y - x)) 1) with (Z.abs (y - x)) by (unfold up; rewrite Z.div_1_r; lia).
    replace (odd n) with 0 by (unfold odd, centre; rewrite Hc; change (2 * 0 + 1) with 1; now rewrite Z.mod_1_r).
    destruct (y =? x); lia.
  Qed.

  Lemma weight_private : forall n, check_noise n l = true -> width n = 1 -> core n = 0 ->
    forall d e, Z.abs (d - e) <= 1 -> 0 <= weight_at n d /\ weight_at n d * bottom_of n <= weight_at n e * top_of n.
  Proof.
    intros n Hn Hw Hc d e H.
    pose proof (noise_private n l Hn 0 (d - e) d ltac:(rewrite Hw; lia)) as Hstep. pose proof (W_nonneg n l Hn 0 d) as Hpos.
    rewrite !(weight_is n Hn Hw Hc), Z.sub_0_r in *. replace (d - (d - e)) with e in Hstep by lia. now split.
  Qed.

  Lemma weight_flat : forall n d, T n <= d -> weight_at n d = level_from n (w0 n) (T n).
  Proof.
    intros n d Hd. pose proof (T_pos n) as HT. unfold weight_at, lev, level_from.
    rewrite Z.abs_eq by lia. now rewrite Z.min_r, Z.min_id by lia.
  Qed.

  Lemma K_nonneg : 0 <= K.
  Proof. unfold K. lia. Qed.

  (** ** What is left over *)
  Lemma left_even : forall d, left_at (- d) = left_at d.
  Proof.
    intros d. unfold left_at. replace (weight_at g (- d)) with (weight_at g d) by (unfold weight_at; f_equal; lia).
    f_equal. unfold spread. rewrite <- (span_negated K _ K_nonneg). apply total_ext. intros j _.
    replace (kernel_at (- j)) with (kernel_at j) by (unfold kernel_at; do 2 f_equal; lia).
    f_equal. unfold weight_at. f_equal. lia.
  Qed.

  Lemma left_flat : forall d, last_change <= d -> left_at d = left_at last_change.
  Proof.
    intros d Hd. pose proof (T_pos f). pose proof K_nonneg. unfold left_at, last_change in *.
    rewrite !(weight_flat g) by lia. f_equal. unfold spread. apply total_ext. intros j Hj. apply in_span in Hj.
    now rewrite !(weight_flat f) by lia.
  Qed.

  Lemma left_list_is : left_list = map left_at (count_from (S (Z.to_nat last_change)) 0).
  Proof.
    set (n := S (Z.to_nat last_change)).
    assert (Hlists : left_list = map (fun both => scale * fst both - snd both)
      (combine (map (weight_at g) (count_from n 0)) (map spread (count_from n 0)))).
    { unfold left_list. cbv zeta. fold n. rewrite (slide_is n _ _ _ kernel_at (weight_at f)).
      unfold spread, span. now replace (K - - K + 1) with (2 * K + 1) by lia. }
    rewrite Hlists. clear Hlists. generalize 0 as j. induction n as [|n IH]; intros j; [reflexivity|].
    cbn [count_from map combine fst snd]. f_equal. apply IH.
  Qed.

  Lemma left_sound : forall d, 0 <= left_at d /\
    (forall e, Z.abs (d - e) <= 1 -> left_at d * bottom_of f <= left_at e * top_of f).
  Proof.
    destruct pair_parts as [Hf [_ [_ [_ [_ [_ [_ Hgentle]]]]]]].
    rewrite left_list_is in Hgentle. apply gentle_at in Hgentle as [Hpos Hsteps].
    destruct (parts f l Hf) as [_ [_ [_ [Hpq _]]]].
    pose proof (T_pos g) as HT. assert (Hlast : 0 <= last_change) by (unfold last_change; lia).
    rewrite Z2Nat.id in Hpos, Hsteps by lia.
    assert (Hall : forall d, 0 <= d -> 0 <= left_at d /\ left_at d * bottom_of f <= left_at (d + 1) * top_of f
      /\ left_at (d + 1) * bottom_of f <= left_at d * top_of f).
    { intros d Hd. destruct (Z.lt_ge_cases d last_change) as [Hin|Hout].
      - split; [apply Hpos | apply Hsteps]; lia.
      - rewrite !(left_flat d), !(left_flat (d + 1)) by lia. specialize (Hpos last_change ltac:(lia)). nia. }
    assert (Habs : forall d, left_at d = left_at (Z.abs d)).
    { intros d. destruct (Z.abs_spec d) as [[_ ->]|[_ ->]]; [reflexivity | symmetry; apply left_even]. }
    intros d. rewrite Habs. split; [apply Hall; lia|]. intros e He. rewrite (Habs e).
    destruct (Z.lt_trichotomy (Z.abs d) (Z.abs e)) as [Hlt|[->|Hgt]].
    - replace (Z.abs e) with (Z.abs d + 1) by lia. apply Hall. lia.
    - pose proof (Hall (Z.abs e) ltac:(lia)). nia.
    - replace (Z.abs d) with (Z.abs e + 1) by lia. apply Hall. lia.
  Qed.

  (** "A column is a multiple of w₂(x-o₂), and where o₁ = o₂ also R(x-o₁): both vary by at most p/q." *)
  Theorem pair_private : forall x h first second, Z.abs (x - h) <= 1 ->
    0 <= pair x first second /\ pair x first second * bottom_of f <= pair h first second * top_of f.
  Proof.
    intros x h first second Hxh. destruct pair_parts as [Hf [_ [[Hw Hc] [_ [_ [_ [Hk _]]]]]]].
    destruct (weight_private f Hf Hw Hc (x - second) (h - second) ltac:(lia)) as [H0 Hstep].
    specialize (Hk (first - second)). destruct (left_sound (x - first)) as [Hleft Hfall].
    specialize (Hfall (h - first) ltac:(lia)). unfold pair. destruct (first =? second).
    - split; nia.
    - split; nia.
  Qed.

  (** "Over all o₂ the weights add up to S·w₁(x-o₁)": the first output has exactly the law of its own file. *)
  Theorem pair_law : forall x first, total (span (first - K) (first + K)) (pair x first) = scale * weight_at g (x - first).
  Proof.
    intros x first. pose proof K_nonneg as HK. unfold pair. rewrite total_add.
    rewrite (span_wider first first (first - K) (first + K) (fun second => if first =? second then left_at (x - first) else 0));
      [|lia|lia|lia|intros z _ Hz; destruct (Z.eqb_spec first z); [lia | reflexivity]].
    rewrite span_one, Z.eqb_refl.
    replace (total (span (first - K) (first + K)) (fun second => weight_at f (x - second) * kernel_at (first - second)))
      with (spread (x - first)); [unfold left_at; lia|].
    unfold spread. rewrite <- (span_negated K _ HK).
    replace (span (- K) K) with (span (first - K - first) (first + K - first)) by (f_equal; lia).
    rewrite <- (span_shift (first - K) (first + K) first
      (fun z => kernel_at (- z) * weight_at f (x - first + - z))).
    apply total_ext. intros z _. replace (- (z - first)) with (first - z) by lia.
    replace (x - first + (first - z)) with (x - z) by lia. lia.
  Qed.

  (** No other o₂ is drawn. *)
  Lemma pair_beyond : forall x first second, ~ (first - K <= second <= first + K) -> pair x first second = 0.
  Proof.
    intros x first second H. pose proof K_nonneg. unfold pair, kernel_at.
    rewrite nth_overflow by (unfold K in *; lia). destruct (Z.eqb_spec first second); [lia|]. lia.
  Qed.
End Pair.

(** ** The kernel of the format

    k(d) = max(0, ⌊S·((p²+q²)·v(d) - pq·(v(d-1)+v(d+1))) / ((p²-q²)·w₂(0))⌋), where v is what w₁ has
    above 2^⌊bits/2⌋. Nothing of this is believed: [check_pair] tests what it gives. *)
Fixpoint kernel_from (p q scale unit before : Z) (v : list Z) : list Z :=
  match v with
  | [] => []
  | x :: rest =>
      Z.max 0 (scale * ((p * p + q * q) * x - p * q * (before + hd 0 rest)) / unit)
      :: kernel_from p q scale unit x rest
  end.
Definition above_root (g : noise) : list Z :=
  let root := 2 ^ (bits g / 2) in filter (fun w => 0 <? w) (map (fun w => w - root) (w0 g :: later g)).
Definition kernel_of (f g : noise) (scale : Z) : list Z :=
  let p := top_of f in
  let q := bottom_of f in
  let v := above_root g in
  kernel_from p q scale ((p * p - q * q) * w0 f) (nth 1 v 0) v.

(** S = 2^(64 + bits - coarse bits). *)
Definition scale_of (f g : noise) : Z := 2 ^ (64 + bits f - bits g).

Definition judge_pair (f g : noise) (l : level) : bool :=
  (bits g <=? bits f) && (bottom_of f <? top_of f) && Nat.ltb 1 (length (above_root g)) &&
  check_pair f g (scale_of f g) (kernel_of f g (scale_of f g)) l.

(** ** For the real ε

    Rows are probabilities, whoever knows both outputs learns no more than e^ε allows, and the coarse
    output alone has the law of its own file. *)
Section Real.
Variable F : numbers.
Add Ring ring_of_pairs : (ring_laws F).

Theorem sharpened_sound : forall f g l, judge_pair f g l = true -> forall E : F, is_exp E l ->
  let scale := scale_of f g in
  let k := kernel_of f g scale in
  let P x first second := mul (of_Z (pair f g scale k x first second)) (over (scale * 2 ^ bits g)) in
  let seconds first := span (first - K k) (first + K k) in
  (forall first second, private F Z (range (people f + 1)) (within 1) (fun _ _ => E) (fun x => P x first second)) /\
  (forall x first, sum (seconds first) (P x first) = mul (of_Z (W g x first)) (over (2 ^ bits g))) /\
  (forall x, In x (range (people f + 1)) -> sum (points g) (fun first => sum (seconds first) (P x first)) = (one : F)).
Proof.
  intros f g l H E HE scale k P seconds. unfold judge_pair in H. apply andb_prop in H as [_ H].
  fold scale in H. fold k in H.
  destruct (pair_parts f g scale k l H) as [Hf [Hg [[Hwf Hcf] [[Hwg Hcg] [Hpeople [Hscale _]]]]]].
  destruct (parts f l Hf) as [Hp [_ [_ [Hpq [Hs [Hb _]]]]]].
  destruct (parts g l Hg) as [_ [_ [Hbits _]]].
  assert (Hpos : 0 < 2 ^ bits g) by (apply Z.pow_pos_nonneg; lia).
  assert (HD : 0 < scale * 2 ^ bits g) by nia.
  pose proof (below_exp F l _ _ E Hs Hb HE) as Hratio.
  assert (Hlaw : forall x first, sum (seconds first) (P x first) = mul (of_Z (W g x first)) (over (2 ^ bits g))).
  { intros x first. unfold P.
    rewrite (sum_ext F _ _ _ (fun second => mul (over (scale * 2 ^ bits g)) (of_Z (pair f g scale k x first second))))
      by (intros; ring).
    rewrite sum_mul, <- sum_of_Z.
    change (total (seconds first) (fun second => pair f g scale k x first second)) with (total (seconds first) (pair f g scale k x first)).
    unfold seconds. rewrite (pair_law f g scale k x first).
    rewrite (weight_is l g Hg Hwg Hcg). replace (weight_at g (first - x)) with (weight_at g (x - first)) by (unfold weight_at; f_equal; lia).
    set (w := weight_at g (x - first)).
    (* of_Z(S·w)/(S·2^b) = of_Z(w)/2^b *)
    transitivity (mul (mul (of_Z (2 ^ bits g)) (over (2 ^ bits g))) (mul (over (scale * 2 ^ bits g)) (of_Z (scale * w))) : F).
    { rewrite (over_law F) by exact Hpos. ring. }
    transitivity (mul (mul (of_Z (scale * 2 ^ bits g)) (over (scale * 2 ^ bits g))) (mul (of_Z w) (over (2 ^ bits g))) : F).
    { rewrite !(of_Z_mul F). ring. }
    rewrite (over_law F) by exact HD. ring. }
  split; [|split; [exact Hlaw|]].
  - intros first second. split.
    + intros x _. apply (le_mul F); [apply of_Z_nonneg; now apply (pair_private f g scale k l H x x) ; lia | now apply over_nonneg].
    + intros x h _ _ Hxh. unfold within in Hxh. apply andb_prop in Hxh as [_ Hxh]. apply Z.leb_le in Hxh.
      destruct (pair_private f g scale k l H x h first second Hxh) as [_ Hstep].
      destruct (pair_private f g scale k l H h x first second ltac:(lia)) as [Hh _].
      apply (real_ratio F E _ _ (top_of f) (bottom_of f)); try lia; assumption.
  - intros x Hx. rewrite (sum_ext F _ _ _ (fun first => mul (of_Z (W g x first)) (over (2 ^ bits g)))) by (intros; apply Hlaw).
    destruct (noise_sound F g l Hg E HE) as [Hrows _]. apply Hrows. apply in_range in Hx. lia.
Qed.
End Real.
