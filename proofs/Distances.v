(** * Distances in the answer graph

    The reader hands distances over as a hint. What passes the judge's test are the distances: the
    lengths of shortest walks along neighbours. *)

From Coq Require Import ZArith List Lia Bool.
From Tightrope Require Import Questions Judge.
Import ListNotations.
Open Scope Z_scope.

Section Distances.
  Variable f : file.

  (** [walk k i d]: from answer k to answer i in d steps. *)
  Inductive walk (k : Z) : Z -> Z -> Prop :=
  | stay : walk k k 0
  | step : forall h i d, walk k h d -> In i (answers f) -> near f i h = true -> walk k i (d + 1).

  Definition is_distance (k i d : Z) : Prop :=
    walk k i d /\ forall e, walk k i e -> d <= e.

  Theorem distances_hold : check_distances f (table f) = true ->
    forall k i, In k (answers f) -> In i (answers f) -> is_distance k i (distance f k i).
  Proof.
    intros H k i Hk Hi. unfold check_distances in H. rewrite forallb_forall in H.
    specialize (H k Hk). apply andb_prop in H as [H0 Hrows]. apply Z.eqb_eq in H0.
    rewrite forallb_forall in Hrows.
    assert (Hrow : forall j, In j (answers f) ->
      (j = k \/ exists h, In h (answers f) /\ near f j h = true /\ distance f k h + 1 = distance f k j) /\
      0 <= distance f k j /\
      forall h, In h (answers f) -> near f j h = true -> distance f k j <= distance f k h + 1).
    { intros j Hj.
      specialize (Hrows (j, filter (near f j) (answers f))).
      assert (Hin : In (j, filter (near f j) (answers f)) (table f)).
      { unfold table. apply in_map_iff. exists j. auto. }
      specialize (Hrows Hin). cbv beta iota in Hrows.
      apply andb_prop in Hrows as [Hrows Hup]. apply andb_prop in Hrows as [Hdown Hpos].
      apply Z.leb_le in Hpos. rewrite forallb_forall in Hup.
      repeat split.
      - apply orb_prop in Hdown as [Heq|Hex]; [left; now apply Z.eqb_eq | right].
        apply existsb_exists in Hex as [h [Hh He]]. apply filter_In in Hh as [Hh1 Hh2].
        exists h. apply Z.eqb_eq in He. auto.
      - exact Hpos.
      - intros h Hh Hjh. apply Z.leb_le, Hup, filter_In. auto. }
    split.
    - (* A neighbour that is one nearer, down to k itself. *)
      assert (Hdown : forall n j, In j (answers f) -> distance f k j = Z.of_nat n -> walk k j (distance f k j)).
      { induction n as [|n IH]; intros j Hj Hn.
        - destruct (Hrow j Hj) as [[-> | [h [Hh [_ He]]]] _]; [rewrite H0; constructor|].
          destruct (Hrow h Hh) as [_ [Hp _]]. lia.
        - destruct (Hrow j Hj) as [[-> | [h [Hh [Hjh He]]]] _]; [lia|].
          rewrite <- He. apply step with h; auto. apply IH; [exact Hh | lia]. }
      destruct (Hrow i Hi) as [_ [Hp _]].
      apply (Hdown (Z.to_nat (distance f k i))); [exact Hi | lia].
    - (* No step changes the distance by more than 1. *)
      assert (Hle : forall j e, walk k j e -> In j (answers f) /\ distance f k j <= e).
      { intros j e Hwalk. induction Hwalk as [|h j d Hw [Hh IH] Hj Hjh]; [split; [exact Hk | lia]|].
        split; [exact Hj|].
        destruct (Hrow j Hj) as [_ [_ Hup]]. specialize (Hup h Hh Hjh). lia. }
      intros e Hw. now apply Hle.
  Qed.
End Distances.
