(** * The answer graphs of questions about people

    A table has one row for each person. Two answers are neighbours when two neighbouring tables
    give them: under change-one the tables have n rows and differ in one; under add-remove they have
    at most n rows, and one has a row more; under either both may happen. *)

From Coq Require Import ZArith List Lia Bool.
From Tightrope Require Import Questions.
Import ListNotations.
Open Scope Z_scope.

Section Rows.
  Variable Row : Type.

  Definition changed (D D' : list Row) : Prop :=
    exists before x y after, D = before ++ x :: after /\ D' = before ++ y :: after.
  Definition joined_by_one (D D' : list Row) : Prop :=
    exists before x after, D = before ++ after /\ D' = before ++ x :: after.

  Definition neighbouring (r : relation) (n : Z) (D D' : list Row) : Prop :=
    match r with
    | ChangeOne => Z.of_nat (length D) = n /\ changed D D'
    | AddRemove => Z.of_nat (length D) <= n /\ Z.of_nat (length D') <= n /\
        (joined_by_one D D' \/ joined_by_one D' D)
    | Either => Z.of_nat (length D) <= n /\ Z.of_nat (length D') <= n /\
        (changed D D' \/ joined_by_one D D' \/ joined_by_one D' D)
    end.
End Rows.
Arguments neighbouring {Row}. Arguments changed {Row}. Arguments joined_by_one {Row}.

(** ** Sums of values 0 … v *)
Definition added (D : list Z) : Z := fold_right Z.add 0 D.
Definition valid (v : Z) (D : list Z) : Prop := Forall (fun x => 0 <= x <= v) D.

Lemma added_app : forall D D', added (D ++ D') = added D + added D'.
Proof. induction D as [|x D IH]; intros; simpl; [|rewrite IH]; lia. Qed.

Lemma added_bound : forall v D, valid v D -> 0 <= added D <= Z.of_nat (length D) * v.
Proof.
  intros v D H. induction H as [|x D Hx H IH]; simpl added; cbn [length]; [lia|]. nia.
Qed.

(** Every sum from 0 to m·v is that of m people. *)
Lemma fill : forall v m s, 0 <= v -> 0 <= s <= Z.of_nat m * v ->
  exists D, length D = m /\ valid v D /\ added D = s.
Proof.
  intros v m. induction m as [|m IH]; intros s Hv Hs.
  - exists []. repeat split; [constructor | simpl; lia].
  - destruct (IH (s - Z.min s v) Hv) as [D [H1 [H2 H3]]]; [nia|].
    exists (Z.min s v :: D). repeat split; [simpl; lia | constructor; [lia | exact H2] | simpl; lia].
Qed.

Lemma valid_split : forall v before x after, valid v (before ++ x :: after) ->
  0 <= x <= v /\ valid v (before ++ after).
Proof.
  intros v before x after H. apply Forall_app in H as [H1 H2]. inversion H2; subst.
  split; [assumption | apply Forall_app; auto].
Qed.

Lemma changed_sums : forall v D D', valid v D -> valid v D' -> changed D D' ->
  Z.abs (added D - added D') <= v.
Proof.
  intros v D D' H H' [before [x [y [after [-> ->]]]]].
  apply valid_split in H as [Hx _]. apply valid_split in H' as [Hy _].
  rewrite !added_app. simpl. lia.
Qed.

Lemma joined_sums : forall u v D D', valid v D -> valid v D' -> joined_by_one D D' ->
  Z.of_nat (length D') <= u -> 0 <= v ->
  added D <= added D' <= added D + v /\ added D <= (u - 1) * v.
Proof.
  intros u v D D' H H' [before [x [after [-> ->]]]] Hlen Hv.
  apply valid_split in H' as [Hx _]. pose proof (added_bound v _ H) as Hb.
  rewrite !added_app in *. simpl added in *.
  rewrite app_length in *. cbn [length] in Hlen. nia.
Qed.

Lemma change_tables : forall u v a b, 1 <= u -> 1 <= v -> 0 <= a <= u * v -> 0 <= b <= u * v ->
  Z.abs (a - b) <= v ->
  exists D D', Z.of_nat (length D) = u /\ Z.of_nat (length D') = u /\ valid v D /\ valid v D' /\
    changed D D' /\ added D = a /\ added D' = b.
Proof.
  intros u v a b Hu Hv Ha Hb Hab.
  set (s := Z.max 0 (Z.max a b - v)).
  destruct (fill v (Z.to_nat (u - 1)) s) as [D [H1 [H2 H3]]]; [lia | unfold s; nia|].
  exists (a - s :: D), (b - s :: D). unfold s in *.
  repeat split; cbn [length added fold_right]; fold (added D); try lia;
    try (constructor; [lia | exact H2]).
  exists [], (a - Z.max 0 (Z.max a b - v)), (b - Z.max 0 (Z.max a b - v)), D. auto.
Qed.

Lemma join_tables : forall u v a b, 1 <= u -> 1 <= v -> 0 <= a <= (u - 1) * v -> a <= b <= a + v ->
  exists D D', Z.of_nat (length D) <= u /\ Z.of_nat (length D') <= u /\ valid v D /\ valid v D' /\
    joined_by_one D D' /\ added D = a /\ added D' = b.
Proof.
  intros u v a b Hu Hv Ha Hb.
  destruct (fill v (Z.to_nat (u - 1)) a) as [D [H1 [H2 H3]]]; [lia | nia|].
  exists D, (b - a :: D).
  repeat split; cbn [length added fold_right]; fold (added D); try lia; try exact H2;
    try (constructor; [lia | exact H2]).
  exists [], (b - a), D. auto.
Qed.

(** "Under add-remove the smaller of the two is at most (u-1)·v." *)
Theorem sum_graph : forall u v r a b, 1 <= u -> 1 <= v -> 0 <= a <= u * v -> 0 <= b <= u * v ->
  near_answers (Sum u v) r [a] [b] = true <->
  a <> b /\ exists D D', valid v D /\ valid v D' /\ neighbouring r u D D' /\ added D = a /\ added D' = b.
Proof.
  intros u v r a b Hu Hv Ha Hb. cbn [near_answers first hd]. unfold within. split.
  - intros H. apply andb_prop in H as [H Hr]. apply andb_prop in H as [Hne Hab].
    apply Z.leb_le in Hab.
    assert (Hneq : a <> b) by (intros ->; rewrite Z.eqb_refl in Hne; discriminate).
    split; [exact Hneq|].
    destruct r.
    + destruct (change_tables u v a b) as [D [D' H]]; auto.
      exists D, D'. cbn [neighbouring]. tauto.
    + apply Z.leb_le in Hr.
      destruct (Z.le_ge_cases a b) as [Hle|Hle].
      * destruct (join_tables u v a b) as [D [D' H]]; try lia.
        exists D, D'. cbn [neighbouring]. tauto.
      * destruct (join_tables u v b a) as [D [D' H]]; try lia.
        exists D', D. cbn [neighbouring]. tauto.
    + destruct (change_tables u v a b) as [D [D' H]]; auto.
      exists D, D'. cbn [neighbouring].
      destruct H as [H1 [H2 H3]]. repeat split; try tauto; lia.
  - intros [Hne [D [D' [HD [HD' [Hn [HA HB]]]]]]].
    apply Z.eqb_neq in Hne. rewrite Hne. cbn [negb andb]. subst a b.
    apply andb_true_intro. rewrite Z.leb_le.
    destruct r; cbn [neighbouring] in Hn.
    + split; [|reflexivity]. apply (changed_sums v); tauto.
    + destruct Hn as [L [L' [J|J]]]; apply (joined_sums u v) in J; try assumption; try lia;
        (split; [lia | apply Z.leb_le; lia]).
    + split; [|reflexivity]. destruct Hn as [L [L' [J|[J|J]]]];
        [apply (changed_sums v); tauto | |]; apply (joined_sums u v) in J; try assumption; lia.
Qed.

(** "A count is a sum of values 0 and 1." *)
Theorem count_graph : forall n r a b, 1 <= n -> 0 <= a <= n -> 0 <= b <= n ->
  near_answers (Count n) r [a] [b] = true <->
  a <> b /\ exists D D', valid 1 D /\ valid 1 D' /\ neighbouring r n D D' /\ added D = a /\ added D' = b.
Proof.
  intros n r a b Hn Ha Hb. rewrite <- (sum_graph n 1 r a b) by lia.
  cbn [near_answers first hd].
  destruct (within 1 a b) eqn:H; cbn [andb]; [|intuition discriminate].
  unfold within in H. apply andb_prop in H as [Hne Hab]. apply Z.leb_le in Hab.
  assert (a <> b) by (intros ->; rewrite Z.eqb_refl in Hne; discriminate).
  destruct r; split; auto; intros _; apply Z.leb_le; lia.
Qed.

(** "A choice is the value of one person": any two are neighbours. *)
Theorem choice_graph : forall c a b, 0 <= a < c -> 0 <= b < c ->
  near_answers (Choice c) ChangeOne [a] [b] = true <->
  a <> b /\ exists D D', neighbouring ChangeOne 1 D D' /\ D = [a] /\ D' = [b].
Proof.
  intros c a b Ha Hb. cbn [near_answers first hd]. split.
  - intros H. split; [intros ->; rewrite Z.eqb_refl in H; discriminate|].
    exists [a], [b]. repeat split. exists [], a, b, []. auto.
  - intros [H _]. apply Z.eqb_neq in H. now rewrite H.
Qed.

(** ** Several counts: a person adds 0 or 1 to each of k numbers *)
Section Counts.
  Variable k : nat.

  Definition vec (g : nat -> Z) : list Z := map g (seq 0 k).
  Definition col (j : nat) (D : list (list Z)) : Z := added (map (fun row => nth j row 0) D).
  Definition bits_row (row : list Z) : Prop :=
    length row = k /\ forall j, (j < k)%nat -> 0 <= nth j row 0 <= 1.
  (** The table D has the answer a. *)
  Definition gives (D : list (list Z)) (a : list Z) : Prop :=
    length a = k /\ forall j, (j < k)%nat -> nth j a 0 = col j D.

  Lemma vec_length : forall g, length (vec g) = k.
  Proof. intros. unfold vec. now rewrite map_length, seq_length. Qed.

  Lemma vec_nth : forall g j, (j < k)%nat -> nth j (vec g) 0 = g j.
  Proof.
    intros g j Hj. unfold vec. rewrite (nth_indep _ 0 (g 0%nat)) by (rewrite map_length, seq_length; lia).
    rewrite map_nth, seq_nth by lia. reflexivity.
  Qed.

  Lemma col_app : forall j D D', col j (D ++ D') = col j D + col j D'.
  Proof. intros. unfold col. now rewrite map_app, added_app. Qed.

  Lemma col_cons : forall j row D, col j (row :: D) = nth j row 0 + col j D.
  Proof. reflexivity. Qed.

  Lemma col_bound : forall D, Forall bits_row D -> forall j, (j < k)%nat ->
    0 <= col j D <= Z.of_nat (length D).
  Proof.
    intros D H j Hj. induction H as [|row D [_ Hrow] H IH]; [cbn; lia|].
    rewrite col_cons. cbn [length]. specialize (Hrow j Hj). lia.
  Qed.

  Lemma fill_counts : forall m (s : nat -> Z), (forall j, (j < k)%nat -> 0 <= s j <= Z.of_nat m) ->
    exists D, length D = m /\ Forall bits_row D /\ forall j, (j < k)%nat -> col j D = s j.
  Proof.
    induction m as [|m IH]; intros s Hs.
    - exists []. repeat split; [constructor|]. intros j Hj. specialize (Hs j Hj). cbn. lia.
    - destruct (IH (fun j => s j - Z.min (s j) 1)) as [D [H1 [H2 H3]]].
      { intros j Hj. specialize (Hs j Hj). lia. }
      exists (vec (fun j => Z.min (s j) 1) :: D). repeat split.
      + simpl. lia.
      + constructor; [|exact H2]. split; [apply vec_length|].
        intros j Hj. rewrite vec_nth by exact Hj. specialize (Hs j Hj). lia.
      + intros j Hj. rewrite col_cons, vec_nth, H3 by exact Hj. lia.
  Qed.

  Lemma forallb_differences : forall P x y, length x = k -> length y = k ->
    forallb P (differences x y) = true <->
    forall j, (j < k)%nat -> P (nth j x 0 - nth j y 0) = true.
  Proof.
    intros P x y Hx Hy. subst k. revert y Hy. unfold differences.
    induction x as [|a x IH]; intros [|b y] Hy; try discriminate.
    - simpl. split; [intros _ j Hj; lia | reflexivity].
    - cbn [combine map forallb fst snd length]. rewrite andb_true_iff, IH by (simpl in Hy; lia). split.
      + intros [H0 H] [|j] Hj; [exact H0 | apply H; simpl in Hj; lia].
      + intros H. split; [apply (H 0%nat); simpl; lia | intros j Hj; apply (H (S j)); simpl; lia].
  Qed.

  Lemma same_is : forall x y, same x y = true <-> x = y.
  Proof. intros. unfold same. destruct (list_eq_dec Z.eq_dec x y); split; auto; discriminate. Qed.

  (** Forall in places. *)
  Lemma forallb_places : forall P x, length x = k ->
    forallb P x = true <-> forall j, (j < k)%nat -> P (nth j x 0) = true.
  Proof.
    intros P x Hx. rewrite forallb_forall. split.
    - intros H j Hj. apply H, nth_In. lia.
    - intros H a Ha. destruct (In_nth x a 0 Ha) as [j [Hj <-]]. apply H. lia.
  Qed.

  Lemma split_row : forall before x after, Forall bits_row (before ++ x :: after) ->
    bits_row x /\ Forall bits_row (before ++ after).
  Proof.
    intros before x after H. apply Forall_app in H as [H1 H2]. inversion H2; subst.
    split; [assumption | apply Forall_app; auto].
  Qed.

  Definition answer (n : Z) (x : list Z) : Prop :=
    length x = k /\ forall j, (j < k)%nat -> 0 <= nth j x 0 <= n.

  Lemma joins_is : forall n x y, 1 <= n -> answer n x -> answer n y ->
    joins n x y = true <->
    exists D D', Forall bits_row D /\ Forall bits_row D' /\ Z.of_nat (length D) <= n /\
      Z.of_nat (length D') <= n /\ joined_by_one D D' /\ gives D x /\ gives D' y.
  Proof.
    intros n x y Hn [Hx Hxn] [Hy Hyn]. unfold joins. rewrite andb_true_iff.
    rewrite (forallb_differences _ y x Hy Hx), (forallb_places _ x Hx). split.
    - intros [Hd Hl].
      destruct (fill_counts (Z.to_nat (n - 1)) (fun j => nth j x 0)) as [D [H1 [H2 H3]]].
      { intros j Hj. specialize (Hl j Hj). apply Z.leb_le in Hl. specialize (Hxn j Hj). lia. }
      exists D, (vec (fun j => nth j y 0 - nth j x 0) :: D). repeat split; try assumption; try lia.
      + constructor; [|exact H2]. split; [apply vec_length|]. intros j Hj.
        rewrite vec_nth by exact Hj. specialize (Hd j Hj). apply andb_prop in Hd as [Ha Hb].
        apply Z.leb_le in Ha, Hb. lia.
      + cbn [length]. lia.
      + exists [], (vec (fun j => nth j y 0 - nth j x 0)), D. auto.
      + intros j Hj. now rewrite H3.
      + intros j Hj. rewrite col_cons, vec_nth, H3 by exact Hj. lia.
    - intros [D [D' [HD [HD' [L [L' [[before [row [after [E E']]]] [[_ G] [_ G']]]]]]]]].
      subst D D'. apply split_row in HD' as [[_ Hrow] _].
      rewrite app_length in *. cbn [length] in L'.
      split; intros j Hj; specialize (G j Hj); specialize (G' j Hj); specialize (Hrow j Hj);
        rewrite ?col_app, ?col_cons in *.
      + apply andb_true_intro. split; apply Z.leb_le; lia.
      + apply Z.leb_le. pose proof (col_bound _ HD j Hj) as Hb. rewrite col_app, app_length in Hb. lia.
  Qed.

  Lemma change_is : forall n x y, 1 <= n -> answer n x -> answer n y ->
    forallb (fun z => Z.abs z <=? 1) (differences x y) = true ->
    exists D D', Forall bits_row D /\ Forall bits_row D' /\ Z.of_nat (length D) = n /\
      Z.of_nat (length D') = n /\ changed D D' /\ gives D x /\ gives D' y.
  Proof.
    intros n x y Hn [Hx Hxn] [Hy Hyn] H. rewrite (forallb_differences _ x y Hx Hy) in H.
    set (s := fun j => Z.max 0 (Z.max (nth j x 0) (nth j y 0) - 1)).
    assert (Hs : forall j, (j < k)%nat -> 0 <= s j <= n - 1 /\ 0 <= nth j x 0 - s j <= 1 /\
      0 <= nth j y 0 - s j <= 1).
    { intros j Hj. specialize (H j Hj). apply Z.leb_le in H. specialize (Hxn j Hj). specialize (Hyn j Hj).
      unfold s. lia. }
    destruct (fill_counts (Z.to_nat (n - 1)) s) as [D [H1 [H2 H3]]].
    { intros j Hj. specialize (Hs j Hj). lia. }
    set (p := vec (fun j => nth j x 0 - s j)). set (q := vec (fun j => nth j y 0 - s j)).
    exists (p :: D), (q :: D). repeat split; try assumption; try (cbn [length]; lia).
    - constructor; [|exact H2]. split; [apply vec_length|]. intros j Hj. unfold p.
      rewrite vec_nth by exact Hj. specialize (Hs j Hj). lia.
    - constructor; [|exact H2]. split; [apply vec_length|]. intros j Hj. unfold q.
      rewrite vec_nth by exact Hj. specialize (Hs j Hj). lia.
    - exists [], p, q, D. auto.
    - intros j Hj. unfold p. rewrite col_cons, vec_nth, H3 by exact Hj. lia.
    - intros j Hj. unfold q. rewrite col_cons, vec_nth, H3 by exact Hj. lia.
  Qed.

  Lemma changed_close : forall x y D D', length x = k -> length y = k ->
    Forall bits_row D -> Forall bits_row D' -> gives D x -> gives D' y ->
    (changed D D' \/ joined_by_one D D' \/ joined_by_one D' D) ->
    forallb (fun z => Z.abs z <=? 1) (differences x y) = true.
  Proof.
    intros x y D D' Hx Hy HD HD' [_ G] [_ G'] H. apply forallb_differences; auto.
    intros j Hj. apply Z.leb_le. specialize (G j Hj). specialize (G' j Hj).
    destruct H as [[b [p [q [a [-> ->]]]]] | [[b [p [a [-> ->]]]] | [b [p [a [-> ->]]]]]];
      try apply split_row in HD as [[_ Hp] _]; try apply split_row in HD' as [[_ Hq] _];
      rewrite ?col_app, ?col_cons in *;
      try specialize (Hp j Hj); try specialize (Hq j Hj); lia.
  Qed.

  (** "A person adds 0 or 1 to each"; at most n people. *)
  Theorem counts_graph : forall n r x y, 1 <= n -> answer n x -> answer n y ->
    near_answers (Counts n (Z.of_nat k)) r x y = true <->
    x <> y /\ exists D D', Forall bits_row D /\ Forall bits_row D' /\ neighbouring r n D D' /\
      gives D x /\ gives D' y.
  Proof.
    intros n r x y Hn Hx Hy. cbn [near_answers]. rewrite andb_true_iff, negb_true_iff.
    assert (Hne : same x y = false <-> x <> y).
    { rewrite <- same_is. destruct (same x y); split; congruence. }
    rewrite Hne. apply and_iff_compat_l.
    destruct r.
    - split.
      + intros H. destruct (change_is n x y Hn Hx Hy H) as [D [D' HH]].
        exists D, D'. cbn [neighbouring]. tauto.
      + intros [D [D' [H1 [H2 [[_ H3] [H4 H5]]]]]].
        apply (changed_close x y D D'); auto; [apply Hx | apply Hy].
    - rewrite orb_true_iff, (joins_is n x y Hn Hx Hy), (joins_is n y x Hn Hy Hx). split.
      + intros [[D [D' HH]] | [D [D' HH]]]; [exists D, D' | exists D', D]; cbn [neighbouring]; tauto.
      + intros [D [D' [H1 [H2 [[L [L' [J|J]]] [G G']]]]]]; [left; exists D, D' | right; exists D', D]; tauto.
    - split.
      + intros H. destruct (change_is n x y Hn Hx Hy H) as [D [D' HH]].
        exists D, D'. cbn [neighbouring]. destruct HH as [H1 [H2 [H3 [H4 [H5 H6]]]]].
        assert (Z.of_nat (length D) <= n /\ Z.of_nat (length D') <= n) by lia. tauto.
      + intros [D [D' [H1 [H2 [[L [L' H3]] [H4 H5]]]]]].
        apply (changed_close x y D D'); auto; [apply Hx | apply Hy].
  Qed.
End Counts.

(** ** Histograms: a person is in one of c classes *)
Section Histograms.
  Variable k : nat.

  Definition hot (i : nat) : list Z := vec k (fun j => if Nat.eqb j i then 1 else 0).
  Definition hot_row (row : list Z) : Prop := exists i, (i < k)%nat /\ row = hot i.
  Definition mark (i j : nat) : Z := if Nat.eqb j i then 1 else 0.

  Lemma hot_nth : forall i j, (j < k)%nat -> nth j (hot i) 0 = mark i j.
  Proof. intros. unfold hot, mark. now rewrite vec_nth. Qed.

  Lemma added_sub : forall (g h : nat -> Z) l,
    added (map (fun j => g j - h j) l) = added (map g l) - added (map h l).
  Proof. induction l as [|a l IH]; simpl; lia. Qed.

  Lemma added_mark : forall i n a, added (map (mark i) (seq a n)) =
    if (Nat.leb a i && Nat.ltb i (a + n))%bool then 1 else 0.
  Proof.
    induction n as [|n IH]; intros a; cbn [seq map added fold_right].
    - destruct (Nat.leb_spec a i); destruct (Nat.ltb_spec i (a + 0)); simpl; lia.
    - fold (added (map (mark i) (seq (S a) n))). rewrite IH. unfold mark.
      destruct (Nat.eqb_spec a i); destruct (Nat.leb_spec (S a) i); destruct (Nat.ltb_spec i (S a + n));
        destruct (Nat.leb_spec a i); destruct (Nat.ltb_spec i (a + S n)); cbn [andb]; lia.
  Qed.

  Lemma added_positive : forall (g : nat -> Z) l, (forall j, In j l -> 0 <= g j) ->
    0 <= added (map g l) /\ (0 < added (map g l) -> exists j, In j l /\ 1 <= g j) /\
    (added (map g l) = 0 -> forall j, In j l -> g j = 0).
  Proof.
    induction l as [|a l IH]; intros H; cbn [map added fold_right].
    - repeat split; [lia | lia | intros _ j []].
    - fold (added (map g l)). pose proof (H a (or_introl eq_refl)) as Ha.
      destruct IH as [H1 [H2 H3]]; [intros; apply H; now right|].
      repeat split; [lia | |].
      + intros Hpos. destruct (Z.le_gt_cases 1 (g a)) as [Hg|Hg]; [exists a; simpl; auto|].
        destruct H2 as [j [Hj Hg']]; [lia|]. exists j. simpl. auto.
      + intros Hzero j [<- | Hj]; [lia | apply H3; [lia | exact Hj]].
  Qed.

  Definition size_of (s : nat -> Z) : Z := added (vec k s).

  Lemma size_mark : forall s i, (i < k)%nat -> size_of (fun j => s j - mark i j) = size_of s - 1.
  Proof.
    intros s i Hi. unfold size_of, vec. rewrite added_sub, added_mark.
    replace (Nat.leb 0 i && Nat.ltb i (0 + k))%bool with true; [lia|].
    symmetry. apply andb_true_intro. split; [apply Nat.leb_le | apply Nat.ltb_lt]; lia.
  Qed.

  Lemma fill_histogram : forall m (s : nat -> Z), (forall j, (j < k)%nat -> 0 <= s j) ->
    size_of s = Z.of_nat m ->
    exists D, length D = m /\ Forall hot_row D /\ forall j, (j < k)%nat -> col j D = s j.
  Proof.
    induction m as [|m IH]; intros s Hs Hsize; unfold size_of, vec in Hsize;
      destruct (added_positive s (seq 0 k)) as [_ [Hsome Hnone]];
      try (intros j Hj; apply in_seq in Hj; apply Hs; lia).
    - exists []. repeat split; [constructor|]. intros j Hj. rewrite (Hnone Hsize j); [reflexivity|].
      apply in_seq. lia.
    - destruct Hsome as [i [Hi Hg]]; [lia|]. apply in_seq in Hi.
      destruct (IH (fun j => s j - mark i j)) as [D [H1 [H2 H3]]].
      + intros j Hj. specialize (Hs j Hj). unfold mark. destruct (Nat.eqb_spec j i); subst; lia.
      + rewrite size_mark by lia. unfold size_of, vec. lia.
      + exists (hot i :: D). repeat split.
        * simpl. lia.
        * constructor; [exists i; split; [lia | reflexivity] | exact H2].
        * intros j Hj. rewrite col_cons, hot_nth, H3 by exact Hj. lia.
  Qed.

  Lemma size_of_table : forall D, Forall hot_row D ->
    size_of (fun j => col j D) = Z.of_nat (length D).
  Proof.
    intros D H. induction H as [|row D [i [Hi ->]] H IH].
    - unfold size_of, vec, col. cbn. induction (seq 0 k); simpl; auto.
    - unfold size_of, vec in *.
      rewrite (map_ext_in _ (fun j => col j D - - mark i j)).
      + rewrite added_sub.
        assert (Hm : forall l, added (map (fun j => - mark i j) l) = - added (map (mark i) l)).
        { induction l as [|a l IHl]; simpl; lia. }
        rewrite Hm, added_mark. rewrite IH. cbn [length].
        replace (Nat.leb 0 i && Nat.ltb i (0 + k))%bool with true; [lia|].
        symmetry. apply andb_true_intro. split; [apply Nat.leb_le | apply Nat.ltb_lt]; lia.
      + intros j Hj. apply in_seq in Hj. rewrite col_cons, hot_nth by lia. lia.
  Qed.

  (** The entries other than 0. *)
  Lemma others_nil : forall d, others d = [] <-> forall j, nth j d 0 = 0.
  Proof.
    unfold others. induction d as [|a d IH]; cbn [filter].
    - split; auto. intros _ [|j]; reflexivity.
    - destruct (Z.eqb_spec a 0); cbn [negb].
      + rewrite IH. split; [intros H [|j]; [exact e | apply H] | intros H j; apply (H (S j))].
      + split; [discriminate | intros H; exfalso; apply n, (H 0%nat)].
  Qed.

  Lemma others_one : forall d z, others d = [z] <->
    z <> 0 /\ exists i, nth i d 0 = z /\ forall j, j <> i -> nth j d 0 = 0.
  Proof.
    unfold others. induction d as [|a d IH]; intros z; cbn [filter].
    - split; [discriminate|]. intros [Hz [[|i] [H _]]]; simpl in H; congruence.
    - destruct (Z.eqb_spec a 0) as [->|Ha]; cbn [negb].
      + rewrite IH. apply and_iff_compat_l. split.
        * intros [i [H1 H2]]. exists (S i). split; [exact H1|].
          intros [|j] Hj; [reflexivity | apply H2; lia].
        * intros [[|i] [H1 H2]].
          -- exists (length d). simpl in H1. rewrite nth_overflow by lia. split; [congruence|].
             intros j _. apply (H2 (S j)). lia.
          -- exists i. split; [exact H1|]. intros j Hj. apply (H2 (S j)). lia.
      + split.
        * intros H. inversion H as [[H1 H2]]. subst z. split; [exact Ha|]. exists 0%nat.
          split; [reflexivity|]. intros [|j] Hj; [lia|]. now apply (proj1 (others_nil d) H2).
        * intros [Hz [[|i] [H1 H2]]].
          -- simpl in H1. subst z. f_equal. apply others_nil. intros j. apply (H2 (S j)). lia.
          -- exfalso. apply Ha, (H2 0%nat). lia.
  Qed.

  Lemma others_two : forall d y z, others d = [y; z] <->
    y <> 0 /\ z <> 0 /\ exists i h, (i < h)%nat /\ nth i d 0 = y /\ nth h d 0 = z /\
      forall j, j <> i -> j <> h -> nth j d 0 = 0.
  Proof.
    induction d as [|a d IH]; intros y z.
    - split; [discriminate|]. intros [Hy [_ [i [h [_ [H _]]]]]]. destruct i; simpl in H; congruence.
    - change (others (a :: d)) with (if negb (a =? 0) then a :: others d else others d).
      destruct (Z.eqb_spec a 0) as [->|Ha]; cbn [negb].
      + rewrite IH. split.
        * intros [Hy [Hz [i [h [Hih [H1 [H2 H3]]]]]]]. split; [exact Hy|]. split; [exact Hz|].
          exists (S i), (S h). repeat split; auto; [lia|].
          intros [|j] Hj Hj'; [reflexivity | apply H3; lia].
        * intros [Hy [Hz [i [h [Hih [H1 [H2 H3]]]]]]]. split; [exact Hy|]. split; [exact Hz|].
          destruct h as [|h]; [lia|]. destruct i as [|i]; [simpl in H1; congruence|].
          exists i, h. repeat split; auto; [lia|]. intros j Hj Hj'. apply (H3 (S j)); lia.
      + split.
        * intros H. inversion H as [[H1 H2]]. subst y. apply others_one in H2 as [Hz [h [H2 H3]]].
          split; [exact Ha|]. split; [exact Hz|]. exists 0%nat, (S h).
          repeat split; auto; [lia|]. intros [|j] Hj Hj'; [lia | apply H3; lia].
        * intros [Hy [Hz [i [h [Hih [H1 [H2 H3]]]]]]]. destruct h as [|h]; [lia|].
          destruct i as [|i]; [|exfalso; apply Ha, (H3 0%nat); lia].
          simpl in H1. subst y. f_equal. apply others_one. split; [exact Hz|].
          exists h. split; [exact H2|]. intros j Hj. apply (H3 (S j)); lia.
  Qed.

  (** A histogram of m people. *)
  Definition histogram (x : list Z) (m : Z) : Prop :=
    length x = k /\ (forall j, (j < k)%nat -> 0 <= nth j x 0) /\ size_of (fun j => nth j x 0) = m.

  (** [y] is [x] with one more person in class i; [z] with that person in class h instead. *)
  Definition raised_at (x y : list Z) (i : nat) : Prop :=
    forall j, (j < k)%nat -> nth j y 0 = nth j x 0 + mark i j.

  Lemma table_of : forall x m, histogram x (Z.of_nat m) ->
    exists D, length D = m /\ Forall hot_row D /\ gives k D x.
  Proof.
    intros x m [Hx [Hpos Hsize]].
    destruct (fill_histogram m (fun j => nth j x 0) Hpos Hsize) as [D [H1 [H2 H3]]].
    exists D. repeat split; auto. intros j Hj. now rewrite H3.
  Qed.

  Lemma of_table : forall D x, Forall hot_row D -> gives k D x -> histogram x (Z.of_nat (length D)).
  Proof.
    intros D x HD [Hx G]. split; [exact Hx|]. split.
    - intros j Hj. rewrite (G j Hj). clear G. induction HD as [|row D [i [Hi ->]] HD IH]; [cbn; lia|].
      rewrite col_cons, hot_nth by exact Hj. unfold mark. destruct (Nat.eqb j i); lia.
    - rewrite <- (size_of_table D HD). unfold size_of, vec. f_equal. apply map_ext_in.
      intros j Hj. apply in_seq in Hj. apply G. lia.
  Qed.

  (** "Who comes or goes changes one number by 1." *)
  Theorem histogram_join : forall n x y i, (i < k)%nat -> 0 <= n -> histogram x n -> length y = k ->
    raised_at x y i <->
    exists D D', Forall hot_row D /\ Forall hot_row D' /\ Z.of_nat (length D) = n /\
      (exists before after, D = before ++ after /\ D' = before ++ hot i :: after) /\
      gives k D x /\ gives k D' y.
  Proof.
    intros n x y i Hi Hn Hx Hy. split.
    - intros Hr. destruct (table_of x (Z.to_nat n)) as [D [H1 [H2 H3]]]; [now rewrite Z2Nat.id|].
      exists D, (hot i :: D). repeat split; auto; try apply H3.
      + constructor; [exists i; auto | exact H2].
      + lia.
      + exists [], D. auto.
      + intros j Hj. rewrite (Hr j Hj), col_cons, hot_nth by exact Hj.
        destruct H3 as [_ H3]. rewrite (H3 j Hj). lia.
    - intros [D [D' [HD [HD' [L [[b [a [-> ->]]] [[_ G] [_ G']]]]]]]] j Hj.
      rewrite (G j Hj), (G' j Hj), !col_app, col_cons, hot_nth by exact Hj. lia.
  Qed.

  (** "Who changes moves from one number to another." *)
  Theorem histogram_change : forall n x y i h, (i < k)%nat -> (h < k)%nat -> i <> h ->
    histogram x n -> histogram y n ->
    (forall j, (j < k)%nat -> nth j x 0 - nth j y 0 = mark i j - mark h j) <->
    exists D D' before after, D = before ++ hot i :: after /\ D' = before ++ hot h :: after /\
      Forall hot_row D /\ Forall hot_row D' /\ Z.of_nat (length D) = n /\ gives k D x /\ gives k D' y.
  Proof.
    intros n x y i h Hi Hh Hih [Hx [Hxp Hxs]] [Hy [Hyp Hys]]. split.
    - intros Hd.
      assert (Hrest : forall j, (j < k)%nat -> 0 <= nth j x 0 - mark i j).
      { intros j Hj. specialize (Hd j Hj). specialize (Hxp j Hj). specialize (Hyp j Hj).
        unfold mark in *. destruct (Nat.eqb_spec j i); destruct (Nat.eqb_spec j h); subst; lia. }
      assert (Hsize : size_of (fun j => nth j x 0 - mark i j) = n - 1) by (rewrite size_mark; lia).
      assert (H1n : 0 <= n - 1).
      { rewrite <- Hsize. unfold size_of, vec.
        destruct (added_positive (fun j => nth j x 0 - mark i j) (seq 0 k)) as [Hp _]; [|exact Hp].
        intros j Hj. apply in_seq in Hj. apply Hrest. lia. }
      destruct (fill_histogram (Z.to_nat (n - 1)) (fun j => nth j x 0 - mark i j)) as [D [H1 [H2 H3]]];
        [exact Hrest | lia|].
      exists (hot i :: D), (hot h :: D), [], D. repeat split; auto.
      + constructor; [exists i; auto | exact H2].
      + constructor; [exists h; auto | exact H2].
      + cbn [length]. lia.
      + intros j Hj. rewrite col_cons, hot_nth, H3 by exact Hj. lia.
      + intros j Hj. specialize (Hd j Hj). rewrite col_cons, hot_nth, H3 by exact Hj. lia.
    - intros [D [D' [b [a [-> [-> [_ [_ [_ [[_ G] [_ G']]]]]]]]]]] j Hj.
      rewrite (G j Hj), (G' j Hj), !col_app, !col_cons, !hot_nth by exact Hj. lia.
  Qed.

  Lemma differences_nth : forall x y j, length x = k -> length y = k ->
    nth j (differences x y) 0 = nth j x 0 - nth j y 0.
  Proof.
    intros x y j Hx Hy. rewrite <- Hx in Hy. clear Hx. revert y Hy j. unfold differences.
    induction x as [|a x IH]; intros [|b y] Hy [|j]; try discriminate; try reflexivity.
    cbn [combine map nth fst snd]. apply IH. simpl in Hy. lia.
  Qed.

  Lemma differences_length : forall x y, length x = k -> length y = k -> length (differences x y) = k.
  Proof. intros. unfold differences. rewrite map_length, combine_length. lia. Qed.

  (** What the rule of the judge says, in places. *)
  Theorem moved_one : forall x y, length x = k -> length y = k ->
    moved AddRemove (differences x y) = true <->
    exists i, (i < k)%nat /\ (raised_at x y i \/ raised_at y x i).
  Proof.
    intros x y Hx Hy. unfold moved.
    pose proof (differences_nth x y) as Hd. pose proof (differences_length x y Hx Hy) as Hl. split.
    - intros H. destruct (others (differences x y)) as [|z [|? ?]] eqn:E; try discriminate.
      apply Z.eqb_eq in H. apply others_one in E as [Hz [i [H1 H2]]].
      assert (Hi : (i < k)%nat).
      { destruct (Nat.lt_ge_cases i k); [assumption|]. rewrite nth_overflow in H1 by lia. congruence. }
      exists i. split; [exact Hi|]. unfold raised_at, mark. rewrite Hd in H1 by assumption.
      destruct (Z.eq_dec z 1); [right | left]; intros j Hj; destruct (Nat.eqb_spec j i) as [->|Hne];
        try lia; specialize (H2 j Hne); rewrite Hd in H2 by assumption; lia.
    - intros [i [Hi Hr]].
      set (z := nth i x 0 - nth i y 0).
      assert (Hz : Z.abs z = 1).
      { unfold z. destruct Hr as [Hr|Hr]; specialize (Hr i Hi); unfold mark in Hr;
          rewrite Nat.eqb_refl in Hr; lia. }
      assert (E : others (differences x y) = [z]).
      { apply others_one. split; [lia|]. exists i. split; [now rewrite Hd|].
        intros j Hne. destruct (Nat.lt_ge_cases j k) as [Hj|Hj]; [|apply nth_overflow; lia].
        rewrite Hd by assumption. destruct Hr as [Hr|Hr]; specialize (Hr j Hj); unfold mark in Hr;
          (destruct (Nat.eqb_spec j i); [contradiction | lia]). }
      rewrite E. now apply Z.eqb_eq.
  Qed.

  Theorem moved_two : forall x y, length x = k -> length y = k ->
    moved ChangeOne (differences x y) = true <->
    exists i h, (i < k)%nat /\ (h < k)%nat /\ i <> h /\
      forall j, (j < k)%nat -> nth j x 0 - nth j y 0 = mark i j - mark h j.
  Proof.
    intros x y Hx Hy. unfold moved.
    pose proof (differences_nth x y) as Hd. pose proof (differences_length x y Hx Hy) as Hl. split.
    - intros H. destruct (others (differences x y)) as [|a [|b [|? ?]]] eqn:E; try discriminate.
      apply andb_prop in H as [Ha Hb]. apply Z.eqb_eq in Ha, Hb.
      apply others_two in E as [Ha0 [Hb0 [i [h [Hih [H1 [H2 H3]]]]]]].
      assert (Hh : (h < k)%nat).
      { destruct (Nat.lt_ge_cases h k); [assumption|]. rewrite nth_overflow in H2 by lia. congruence. }
      rewrite Hd in H1, H2 by assumption.
      assert (Hall : forall j, j <> i -> j <> h -> nth j x 0 - nth j y 0 = 0).
      { intros j Hj Hj'. rewrite <- Hd by assumption. now apply H3. }
      destruct (Z.eq_dec a 1) as [->|Hne]; [exists i, h | exists h, i];
        (split; [lia|]; split; [lia|]; split; [lia|]; intros j Hj; unfold mark;
         destruct (Nat.eqb_spec j i) as [Hji|Hji]; destruct (Nat.eqb_spec j h) as [Hjh|Hjh];
         [lia | rewrite Hji; lia | rewrite Hjh; lia | rewrite (Hall j Hji Hjh); lia]).
    - intros [i [h [Hi [Hh [Hih Hall]]]]].
      assert (Hplace : forall j, nth j (differences x y) 0 = mark i j - mark h j).
      { intros j. destruct (Nat.lt_ge_cases j k) as [Hj|Hj].
        - rewrite Hd by assumption. now apply Hall.
        - rewrite nth_overflow by lia. unfold mark.
          destruct (Nat.eqb_spec j i); destruct (Nat.eqb_spec j h); lia. }
      unfold mark in Hplace.
      destruct (Nat.lt_ge_cases i h) as [Hlt|Hge].
      + assert (E : others (differences x y) = [1; -1]).
        { apply others_two. split; [lia|]. split; [lia|]. exists i, h. repeat split; [exact Hlt| | |].
          - rewrite Hplace, Nat.eqb_refl. destruct (Nat.eqb_spec i h); lia.
          - rewrite Hplace, Nat.eqb_refl. destruct (Nat.eqb_spec h i); lia.
          - intros j Hj Hj'. rewrite Hplace.
            destruct (Nat.eqb_spec j i); destruct (Nat.eqb_spec j h); lia. }
        now rewrite E.
      + assert (E : others (differences x y) = [-1; 1]).
        { apply others_two. split; [lia|]. split; [lia|]. exists h, i. repeat split; [lia| | |].
          - rewrite Hplace, Nat.eqb_refl. destruct (Nat.eqb_spec h i); lia.
          - rewrite Hplace, Nat.eqb_refl. destruct (Nat.eqb_spec i h); lia.
          - intros j Hj Hj'. rewrite Hplace.
            destruct (Nat.eqb_spec j i); destruct (Nat.eqb_spec j h); lia. }
        now rewrite E.
  Qed.
End Histograms.
