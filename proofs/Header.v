(** * What the header of a mechanism file says

    The reader (reader.ml) hands over the header as JSON, and the integers of each section. All
    decisions about them are made here: [judge] reads the header, and asks the proved checks. *)

From Coq Require Import ZArith List Bool String Ascii.
From Tightrope Require Import Numbers Exponential Questions Lattice Lines Tuples Sharpened Shown Scores Joint Judge Limits.
Import ListNotations.
Open Scope string_scope.
Open Scope Z_scope.

Inductive json :=
| Null | Truth (b : bool) | Int (n : Z) | Text (t : string)
| List (l : list json) | Object (pairs : list (string * json)).

(** A file is read, or refused, or of a kind that this judge does not know. *)
Inductive reading (A : Type) := Read (a : A) | Refused (why : string) | Uncovered (what : string).
Arguments Read {A}. Arguments Refused {A}. Arguments Uncovered {A}.

Definition bind {A B} (r : reading A) (k : A -> reading B) : reading B :=
  match r with Read a => k a | Refused why => Refused why | Uncovered what => Uncovered what end.
Notation "'let*' x := r 'in' k" := (bind r (fun x => k)) (at level 200, x name, r at level 100, k at level 200).
Notation "'need' c 'else' why 'in' k" :=
  (if c then k else Refused why) (at level 200, c at level 100, why at level 100, k at level 200).

Fixpoint each {A B} (read : A -> reading B) (l : list A) : reading (list B) :=
  match l with
  | [] => Read []
  | a :: rest => let* b := read a in let* others := each read rest in Read (b :: others)
  end.

(** ** Values *)
Fixpoint get (key : string) (pairs : list (string * json)) : json :=
  match pairs with
  | [] => Null
  | (name, value) :: rest => if String.eqb name key then value else get key rest
  end.
Definition is_null (j : json) : bool := match j with Null => true | _ => false end.
Definition names_are (names : list string) (pairs : list (string * json)) : bool :=
  if list_eq_dec string_dec names (map fst pairs) then true else false.

(** The pairs of an object, whose keys are these in order. *)
Definition fields (names : list string) (j : json) : reading (list (string * json)) :=
  match j with
  | Object pairs => need names_are names pairs else "an object has other keys" in Read pairs
  | _ => Refused "an object is missing"
  end.
Definition kind_of (j : json) : reading string :=
  match j with
  | Object pairs => match get "kind" pairs with Text kind => Read kind | _ => Refused "no kind" end
  | _ => Refused "an object is missing"
  end.
Definition whole_number (low high : Z) (j : json) : reading Z :=
  match j with
  | Int n => need (low <=? n) && (n <? high) else "a whole number is out of range" in Read n
  | _ => Refused "a whole number is out of range"
  end.
Definition items (j : json) : reading (list json) :=
  match j with List l => Read l | _ => Refused "a list is missing" end.
Definition truth (j : json) : reading bool :=
  match j with Truth b => Read b | _ => Refused "true or false is missing" end.

(** ** Texts: whole numbers, and fractions in lowest terms *)
Fixpoint split (mark : ascii) (text : string) : list string :=
  match text with
  | EmptyString => [EmptyString]
  | String c rest =>
      if Ascii.eqb c mark then EmptyString :: split mark rest
      else match split mark rest with
        | word :: words => String c word :: words
        | [] => []
        end
  end.
Fixpoint digits (text : string) (value : Z) : option Z :=
  match text with
  | EmptyString => Some value
  | String c rest =>
      let d := Z.of_N (N_of_ascii c) - 48 in
      if (0 <=? d) && (d <=? 9) then digits rest (10 * value + d) else None
  end.
Definition natural (most : nat) (text : string) : option Z :=
  match text with
  | EmptyString => None
  | String c rest =>
      if Ascii.eqb c "0"%char then if String.eqb rest "" then Some 0 else None
      else if Nat.leb (String.length text) most then digits text 0 else None
  end.
Definition integer (most : nat) (text : string) : option Z :=
  match text with
  | String c rest =>
      if Ascii.eqb c "-"%char
      then match natural most rest with Some 0 => None | Some n => Some (- n) | None => None end
      else natural most text
  | EmptyString => None
  end.

Definition fraction (most : nat) (j : json) : reading (Z * Z) :=
  match j with
  | Text text =>
      match map (integer most) (split "/" text) with
      | [Some a] => Read (a, 1)
      | [Some a; Some b] =>
          need (1 <? b) && (Z.gcd a b =? 1) else "a fraction is not in lowest terms" in Read (a, b)
      | _ => Refused "a fraction is not a number"
      end
  | _ => Refused "a fraction is not a text"
  end.
Definition long := 1300%nat.
Definition positive (most : nat) (j : json) : reading (Z * Z) :=
  let* x := fraction most j in
  need 0 <? fst x else "a number must be positive" in Read x.

(** ** The question: a name, and what is between its brackets *)
Definition unknown {A} : reading A := Refused "the question is not known".
Definition call (text : string) : reading (string * list string) :=
  match split "(" text with
  | [name] => Read (name, [])
  | [name; rest] =>
      match split ")" rest with
      | [inside; ""] => Read (name, split "," inside)
      | _ => unknown
      end
  | _ => unknown
  end.
Definition size_of (text : string) : reading Z :=
  match natural 15 text with Some n => Read n | None => unknown end.
Definition query_text (j : json) : reading string :=
  match j with Text text => Read text | _ => Refused "no question" end.

Definition power_of (n k : Z) : Z := if 64 <? k then 10 ^ 18 else (n + 1) ^ k.

(** [most] limits the answers where each of them is looked at. *)
Definition question_of (most : option Z) (text : string) : reading question :=
  let* parts := call text in
  let* sizes := each size_of (snd parts) in
  let name := fst parts in
  let few size (q : question) : reading question :=
    match most with
    | Some m => if size <=? m then Read q else Uncovered "a question of this size"
    | None => Read q
    end in
  need String.eqb name "tree" || negb (existsb (Z.eqb 0) sizes) else "the question is not known" in
  match sizes with
  | [a] =>
      if String.eqb name "count" then few a (Count a)
      else if String.eqb name "choice" then few a (Choice a)
      else if String.eqb name "star" then few a (Star a)
      else if String.eqb name "path" then few a (Path a)
      else if String.eqb name "cycle" && (2 <? a) then few a (Cycle a)
      else if String.eqb name "clique" then few a (Clique a)
      else if String.eqb name "grid" then few a (Grid [a])
      else if String.eqb name "hypercube" && (a <=? 64) then few (power_of 1 a) (Grid (repeat 2 (Z.to_nat a)))
      else Uncovered ("the question " ++ text)
  | [a; b] =>
      if String.eqb name "sum" then few (a * b) (Sum a b)
      else if String.eqb name "mean" then few (a * b) (Mean a b)
      else if String.eqb name "counts" then few (power_of a b) (Counts a b)
      else if String.eqb name "histogram" then few (power_of a b) (Histogram a b)
      else if String.eqb name "count_mod" then few b (CountMod a b)
      else if String.eqb name "tree" && (0 <? a) then few (power_of a b) (Tree a b)
      else if String.eqb name "grid" then few (a * b) (Grid sizes)
      else Uncovered ("the question " ++ text)
  | _ =>
      if String.eqb name "grid" && negb (Nat.eqb (List.length sizes) 0)
      then few (fold_right Z.mul 1 sizes) (Grid sizes)
      else Uncovered ("the question " ++ text)
  end.

Definition rows_each (texts : list string) : reading Z :=
  match texts with
  | [] => Read 1
  | [text] =>
      let* k := size_of text in
      need (1 <? k) && (k <? 10 ^ 7) else "one row each is not written out" in Read k
  | _ => unknown
  end.
Definition values_in (text : string) : reading Z :=
  let* c := size_of text in
  need (0 <? c) && (c <=? 2 ^ 20) else "the question is not known" in Read c.
Definition score_question_of (text : string) : reading score_question :=
  let* parts := call text in
  match snd parts with
  | first :: rest =>
      if String.eqb (fst parts) "commonest"
      then let* c := values_in first in let* k := rows_each rest in Read (Commonest c k)
      else if String.eqb (fst parts) "quantile" then
        let* rank := positive 7 (Text first) in
        need fst rank <? snd rank else "a rank is below 1" in
        match rest with
        | second :: rest =>
            let* c := values_in second in
            let* k := rows_each rest in Read (Quantile (fst rank) (snd rank) c k)
        | [] => unknown
        end
      else unknown
  | [] => unknown
  end.

(** A rank below 1 in lowest terms, and the ranks that a list begins with. *)
Definition rank_of (text : string) : reading (Z * Z) :=
  let* rank := positive 5 (Text text) in
  need fst rank <? snd rank else "a rank is below 1" in Read rank.
Fixpoint leading_ranks (texts : list string) : reading (list (Z * Z) * list string) :=
  match texts with
  | text :: rest =>
      if Nat.ltb 1 (List.length (split "/" text))
      then let* rank := rank_of text in let* others := leading_ranks rest in Read (rank :: fst others, snd others)
      else Read ([], texts)
  | [] => Read ([], [])
  end.
Definition joint_size (text : string) : reading Z :=
  match natural 9 text with
  | Some n => need 0 <? n else "the question is not known" in Read n
  | None => unknown
  end.
Definition joint_question_of (text : string) : reading joint_question :=
  let* parts := call text in
  let* found := leading_ranks (snd parts) in
  let ranks := fst found in
  let* sizes := each joint_size (snd found) in
  let D := fold_right (fun rank most => Z.lcm (snd rank) most) 1 ranks in
  let tops := map (fun rank => fst rank * (D / snd rank)) ranks in
  need (D <=? 10000) && Nat.leb (List.length ranks) 20 && (hd 0 sizes <=? 2 ^ 20) else "the question is not known" in
  let rows k := need 1 <? k else "one row each is not written out" in Read k in
  if String.eqb (fst parts) "bracket" then
    match tops, sizes with
    | [t], [c; apart; less] => Read (Bracket t D c apart less 1)
    | [t], [c; apart; less; k] => let* k := rows k in Read (Bracket t D c apart less k)
    | _, _ => unknown
    end
  else if String.eqb (fst parts) "quantiles" then
    match tops, sizes with
    | _ :: _ :: _, [c; _] => Read (Quantiles tops D c 1)
    | _ :: _ :: _, [c; _; k] => let* k := rows k in Read (Quantiles tops D c k)
    | _, _ => unknown
    end
  else unknown.

(** ** Level, relation, ratio *)
Section Header.
  Variable header : list (string * json).
  Definition at_key (key : string) : json := get key header.
  Definition absent (keys : list string) : bool := forallb (fun key => is_null (at_key key)) keys.

  Definition privacy_level : reading level :=
    let* told := fields ["base"; "multiple"] (at_key "epsilon") in
    let* m := positive 210 (get "multiple" told) in
    let '(a, b) := m in
    if is_null (get "base" told) then
      need (b <=? a * 10 ^ 12) && (a <=? 500 * b) else "epsilon is out of range" in Read (Natural a b)
    else
      let* base := positive 210 (get "base" told) in
      let '(n, d) := base in
      need d <? n else "the base must be larger than 1" in
      if 2000 <? Z.max a b then Uncovered "a level with a root of this degree"
      else Read (Power (Z.to_nat a) (Z.to_nat b) n d).

  Definition relation_of : reading relation :=
    match at_key "neighbours" with
    | Text name =>
        if String.eqb name "change-one" then Read ChangeOne
        else if String.eqb name "add-remove" then Read AddRemove
        else if String.eqb name "either" then Read Either
        else Refused "the neighbour relation is not known"
    | _ => Refused "the neighbour relation is not known"
    end.

  Definition ratios_of : reading (list (Z * Z)) :=
    let* listed := items (at_key "ratios") in each (positive long) listed.
  Definition one_ratio : reading (Z * Z) :=
    let* all := ratios_of in
    match all with [ratio] => Read ratio | _ => Refused "there is one ratio" end.

  Definition delta_of : reading (option (Z * Z)) :=
    if is_null (at_key "delta") then Read None
    else
      let* d := positive 210 (at_key "delta") in
      need fst d <? snd d else "delta must be below 1" in Read (Some d).

  Definition bare : bool :=
    absent ["graph"; "outputs"; "window"; "consumer"; "expected_loss"; "limit"; "certificate"; "bound"]
    && match at_key "sections" with List [] => true | _ => false end.

  (** ** Weights by rule *)
  Definition read_shown : reading bool :=
    let* told := fields ["bits"; "kind"; "levels"; "zero"] (at_key "weights") in
    let* text := query_text (at_key "query") in
    let* q := question_of None text in
    need bare else "a count that may not be shown has a question and a delta, and no list" in
    let* _ := relation_of in
    let* ratio := one_ratio in
    let* listed := items (get "levels" told) in
    let* levels := each (whole_number 1 (2 ^ 480)) listed in
    let* zero := whole_number 0 (2 ^ 17) (get "zero" told) in
    need zero <? Z.of_nat (List.length levels) else "the level of no noise does not exist" in
    let* delta := delta_of in
    let* bits := whole_number 0 481 (get "bits" told) in
    let* l := privacy_level in
    match q, delta with
    | (Count _ | Path _), Some (a, b) => Read (check_shown levels bits (fst ratio) (snd ratio) a b l)
    | (Count _ | Path _), None => Refused "a count that may not be shown has a delta"
    | _, _ => Uncovered "a count of this question"
    end.

  Definition root_of (l : level) : Z := match l with Natural _ _ => 1 | Power _ s _ _ => Z.of_nat s end.
  Definition read_scores : reading bool :=
    let* told := fields ["bits"; "kind"] (at_key "weights") in
    let* bits := whole_number 40 63 (get "bits" told) in
    need bare && is_null (at_key "delta") else "scores have a question, and neither lists nor a consumer" in
    let* text := query_text (at_key "query") in
    let* q := score_question_of text in
    let* r := relation_of in
    let* ratio := one_ratio in
    let* l := privacy_level in
    (* (p/q)^T is computed. *)
    if 4000000 <? steps_of q r * (root_of l * Z.log2_up (fst ratio)) then Uncovered "so many steps"
    else Read (judge_scores q r bits (fst ratio) (snd ratio) l).

  Definition read_joint : reading (joint_question * relation * Z * (Z * Z) * level) :=
    let* told := fields ["bits"; "kind"] (at_key "weights") in
    let* bits := whole_number 40 1024 (get "bits" told) in
    need bare && is_null (at_key "delta") else "tuples have a question, and neither lists nor a consumer" in
    let* text := query_text (at_key "query") in
    let* q := joint_question_of text in
    let* r := relation_of in
    let* ratio := one_ratio in
    let* l := privacy_level in
    if 4000000 <? 2 * joint_steps q r * (root_of l * Z.log2_up (fst ratio)) then Uncovered "so many steps"
    else Read (q, r, bits, ratio, l).

  (** How many levels follow the second one, at most [fuel]. *)
  Fixpoint level_count (p q : Z) (fuel : nat) (w : Z) : option nat :=
    match fuel with
    | O => None
    | S less =>
        let next := up (w * q) p in
        if next =? w then Some 1%nat
        else match level_count p q less next with Some n => Some (S n) | None => None end
    end.

  (** More than there are: a level of at least 2p/(p-q) halves in 2p/(p-q) steps. *)
  Definition enough_levels (p q start : Z) : nat :=
    Z.to_nat (Z.min 300000 (2 * (Z.log2_up start + 2) * (p / (p - q) + 2))).

  (** Whether noise is private; with the noise itself where it is on a line. *)
  Definition read_noise : reading (bool * option (question * relation * Lattice.noise * level)) :=
    let* told := fields ["bits"; "core"; "kind"; "start"] (at_key "weights") in
    let* text := query_text (at_key "query") in
    let* q := question_of None text in
    need absent ["graph"; "outputs"; "delta"] else "the outputs of a lattice are the answers, and it has no delta" in
    let* ratio := one_ratio in
    let* start := whole_number 1 (2 ^ 4000) (get "start" told) in
    let* core := whole_number 0 (2 ^ 60) (get "core" told) in
    let* bits := whole_number 1 4001 (get "bits" told) in
    let* l := privacy_level in
    let* r := relation_of in
    match level_count (fst ratio) (snd ratio) (enough_levels (fst ratio) (snd ratio) start) start with
    | None => Uncovered "so many levels"
    | Some many =>
        let noise people width := Lattice.Build_noise people width core start (fst ratio) (snd ratio) bits many in
        match line_of q r, lattice_of q r with
        | Some (people, width), _ =>
            need 0 <? people else "the question has one answer" in
            let f := noise people width in
            Read (check_noise f l, Some (q, r, f, l))
        | None, Some (form, parts, people) =>
            need 0 <? people else "the question has one answer" in
            need core =? 0 else "only a line has a core" in
            need Nat.leb parts 1000 && match form with Roots => Nat.ltb 1 parts | _ => true end
              else "this lattice is not known" in
            if 20000000 <? Z.of_nat parts * Z.of_nat many then Uncovered "a lattice of this size"
            else Read (check_tuples (noise people 1) form parts l, None)
        | None, None => Uncovered "noise on this lattice"
        end
    end.

  (** A finer number after a coarse one: the finer and the coarse noise, on a line with steps of one. *)
  Definition read_pair : reading (Lattice.noise * Lattice.noise * level) :=
    let* told := fields ["bits"; "coarse"; "core"; "kind"; "start"] (at_key "weights") in
    let* before := fields ["bits"; "ratio"; "start"] (get "coarse" told) in
    let* text := query_text (at_key "query") in
    let* q := question_of None text in
    need bare && is_null (at_key "delta") else "a pair of outputs has a question, and neither lists nor a consumer" in
    let* ratio := one_ratio in
    let* start := whole_number 1 (2 ^ 4000) (get "start" told) in
    let* core := whole_number 0 (2 ^ 60) (get "core" told) in
    let* bits := whole_number 1 4001 (get "bits" told) in
    let* ratio_before := positive long (get "ratio" before) in
    need snd ratio_before <? fst ratio_before else "the ratio of the coarse noise must be larger than 1" in
    let* start_before := whole_number 1 (2 ^ 4000) (get "start" before) in
    let* bits_before := whole_number 1 4001 (get "bits" before) in
    let* l := privacy_level in
    let* r := relation_of in
    let levels ratio start := level_count (fst ratio) (snd ratio) (enough_levels (fst ratio) (snd ratio) start) start in
    match line_of q r, levels ratio start, levels ratio_before start_before with
    | Some (people, width), Some many, Some many_before =>
        need (0 <? people) && (width =? 1) && (core =? 0) else "a finer output is for noise on a line with steps of one" in
        (* Each distance takes a sum over the kernel. *)
        if 20000000 <? (Z.of_nat many + 2 * Z.of_nat many_before) * Z.of_nat many_before then Uncovered "so many levels"
        else
          let noise ratio start bits many := Lattice.Build_noise people 1 0 start (fst ratio) (snd ratio) bits many in
          Read (noise ratio start bits many, noise ratio_before start_before bits_before many_before, l)
    | None, _, _ => Refused "a finer output is for noise on a line with steps of one"
    | _, _, _ => Uncovered "so many levels"
    end.
End Header.

(** ** Labels *)
Fixpoint plain (j : json) : json :=              (* 1 and true are the same label *)
  match j with
  | Truth b => Int (if b then 1 else 0)
  | List l => List (map plain l)
  | other => other
  end.
Fixpoint has_float (j : json) : bool :=
  match j with
  | List l => existsb has_float l
  | Object [(key, _)] => String.eqb key "float"
  | _ => false
  end.
Fixpoint same_json (x y : json) : bool :=
  match x, y with
  | Null, Null => true
  | Truth a, Truth b => Bool.eqb a b
  | Int a, Int b => a =? b
  | Text a, Text b => String.eqb a b
  | List l, List m =>
      (fix all l m := match l, m with
       | [], [] => true
       | a :: l, b :: m => same_json a b && all l m
       | _, _ => false
       end) l m
  | Object l, Object m =>
      (fix all l m := match l, m with
       | [], [] => true
       | (k, a) :: l, (n, b) :: m => String.eqb k n && same_json a b && all l m
       | _, _ => false
       end) l m
  | _, _ => false
  end.
Fixpoint different (l : list json) : bool :=
  match l with
  | [] => true
  | x :: rest => negb (existsb (same_json x) rest) && different rest
  end.
Definition labels_of (j : json) (count : Z) : reading (list json) :=
  let* listed := items j in
  if existsb has_float listed then Uncovered "labels that are floats"
  else
    let labels := map plain listed in
    need Z.of_nat (List.length labels) =? count else "there are too few or many labels" in
    need different labels else "two labels are the same" in Read labels.

(** The numbers that a label consists of. *)
Definition part_of (j : json) : option (Z * Z) :=
  match j with
  | Int n => Some (n, 1)
  | Object [(key, value)] =>
      if String.eqb key "fraction" then match fraction long value with Read x => Some x | _ => None end else None
  | _ => None
  end.
Fixpoint all_known {A} (l : list (option A)) : option (list A) :=
  match l with
  | [] => Some []
  | Some a :: rest => match all_known rest with Some others => Some (a :: others) | None => None end
  | None :: _ => None
  end.
Definition numbers_of (j : json) : option (list (Z * Z)) :=
  all_known (map part_of (match j with List l => l | one => [one] end)).

(** A label of a question's answer: its numbers over one denominator, a single number not in a list. *)
Definition named (unit : Z) (answer : list Z) (j : json) : bool :=
  match j, answer with List _, [_] => false | List _, _ => true | _, [_] => true | _, _ => false end &&
  match numbers_of j with
  | Some parts =>
      Nat.eqb (List.length parts) (List.length answer) &&
      forallb (fun pair => fst (fst pair) * unit =? snd pair * snd (fst pair)) (combine parts answer)
  | None => false
  end.

(** A graph of one's own: edges are sorted, so that one is found by halving. *)
Fixpoint seek (key : Z -> Z) (want : Z) (fuel : nat) (low high : Z) : Z :=
  match fuel with
  | O => low
  | S less =>
      if high - low <=? 1 then low
      else
        let middle := (low + high) / 2 in
        if key middle <=? want then seek key want less middle high else seek key want less low middle
  end.

Fixpoint lengths_rise (l : list (Z * Z)) : bool :=
  match l with
  | x :: ((y :: _) as rest) => (fst x * snd y <? fst y * snd x) && lengths_rise rest
  | _ => true
  end.

Record asked_for := {
  what : (question * relation) + own_graph;
  count : Z;
  label_at : Z -> list Z;
  over_what : Z;
  named_alike : list json -> bool       (* whether these are the labels of the first answers *)
}.

(** Binary places of a hint below the unit of a file's numbers. *)
Definition fine : Z := 192.

(** What one verdict says: all that the file states, or its privacy alone. *)
Inductive verdict := Holds | Private (rest : string).

(** ** Listed weights

    What reader and hints hand over: the integers of a section that must have so many, in chunks of
    whole columns, from a lowest to below a highest one; a place in a list; distances; multipliers. *)
Section Dense.
  Variable numbers : string -> Z -> Z -> Z -> Z -> reading (Z -> Z).
  Variable place_in : list (list Z) -> Z -> list Z.
  Variable far : list (Z * list Z) -> Z -> Z -> Z.
  Variable hint : string -> json -> file -> consumer -> option limit -> bool -> Z * Z -> reading certificate.
  Variable header : list (string * json).
  Notation at_key := (at_key header).

  Definition section (name : string) (many low high : Z) : reading (Z -> Z) := numbers name 1 many low high.
  Definition wide : Z := 2 ^ 511.

  Definition named_graph (text : string) : reading asked_for :=
    let* q := question_of (Some 2000000) text in
    let* r := relation_of header in
    match q, r with
    | Mean _ _, (AddRemove | Either) => Uncovered "a mean of people who come and go"
    | _, _ =>
        let known := answers_of q r in
        Read {| what := inl (q, r); count := Z.of_nat (List.length known); label_at := place_in known;
                over_what := denominator q;
                named_alike := fun given => forallb (fun pair => named (denominator q) (fst pair) (snd pair))
                  (combine known given) |}
    end.

  Definition read_lengths (j : json) : reading (list (Z * Z)) :=
    let* listed := items j in
    let* lengths := each (positive 60) listed in
    match lengths with
    | (1, 1) :: rest =>
        need lengths_rise rest && negb (existsb (fun x => (fst x =? 1) && (snd x =? 1)) rest)
          else "lengths are not in order" in Read lengths
    | _ => Refused "lengths are not in order"
    end.

  Definition numeric_labels (labels : list json) : Z * list (list Z) :=
    match all_known (map numbers_of labels) with
    | Some known =>
        let unit := fold_right Z.lcm 1 (map snd (List.concat known)) in
        let scaled := map (map (fun x => fst x * unit / snd x)) known in
        let size := List.length (hd [] scaled) in
        if forallb (fun l => Nat.eqb (List.length l) size) scaled then (unit, scaled) else (unit, [])
    | None => (1, [])
    end.

  Definition listed_graph (j : json) : reading asked_for :=
    let* _ := relation_of header in
    let* told := fields ["edges"; "labels"; "lengths"; "nodes"] j in
    let* n := whole_number 0 (2 ^ 20) (get "nodes" told) in
    let* edges := whole_number 0 (2 ^ 22) (get "edges" told) in
    need 0 <? n else "there are no answers" in
    let* lengths := read_lengths (get "lengths" told) in
    let* ends := section "edges" (2 * edges) 0 n in
    let many := Z.of_nat (List.length lengths) in
    let* length_of := if many =? 1 then Read (fun _ => 0) else section "edge_lengths" edges 0 many in
    let all := range edges in
    need forallb (fun l => (l =? 0) || existsb (fun e => length_of e =? l) all) (range many)
      else "a length has no edge" in
    let key e := ends (2 * e) * n + ends (2 * e + 1) in
    need forallb (fun e => (ends (2 * e) <? ends (2 * e + 1)) && ((e =? 0) || (key (e - 1) <? key e))) all
      else "edges are not in order" in
    let edge i h := seek key (i * n + h) 64 0 edges in
    let own := {| joined := fun i h => (0 <? edges) && (key (edge i h) =? i * n + h);
                  place := fun i h => length_of (edge i h); lengths := lengths |} in
    let* labels :=
      if is_null (get "labels" told) then Read (map Int (range n)) else labels_of (get "labels" told) n in
    let scaled := numeric_labels labels in
    Read {| what := inr own; count := n;
            label_at := match snd scaled with [] => fun _ => [] | known => place_in known end;
            over_what := fst scaled;
            named_alike := fun given => forallb (fun pair => same_json (fst pair) (snd pair)) (combine labels given) |}.

  Definition read_graph : reading asked_for :=
    match at_key "query", at_key "graph" with
    | Text text, Null => named_graph text
    | Null, graph => listed_graph graph
    | _, _ => Refused "a file names a question or holds a graph of its own"
    end.

  Definition lone_kind (name : string) (j : json) : bool :=
    match j with Object [(key, Text kind)] => String.eqb key "kind" && String.eqb kind name | _ => false end.

  Definition read_loss (n : Z) (j : json) : reading (Z * loss_kind) :=
    if lone_kind "binary" j then Read (n, Binary)
    else if lone_kind "absolute" j then Read (n, Absolute)
    else if lone_kind "squared" j then Read (n, Squared)
    else if lone_kind "distance" j then Read (n, Distance)
    else
      let* kind := kind_of j in
      need String.eqb kind "listed" else "the loss is not known" in
      let* told := fields ["denominator"; "guesses"; "kind"] j in
      let* g := whole_number 0 (2 ^ 24) (get "guesses" told) in
      let* unit := whole_number 1 (2 ^ 1024) (get "denominator" told) in
      let* all := section "loss" (n * g) (- wide) wide in
      Read (g, Listed unit (fun k i => all (k * n + i))).

  Definition read_support (n : Z) (j : json) : reading (option (Z -> bool)) :=
    if is_null j then Read None
    else if lone_kind "all" j then Read (Some (fun _ => true))
    else
      let* told := fields ["count"; "kind"] j in
      let* kind := kind_of j in
      let* many := whole_number 0 (2 ^ 31) (get "count" told) in
      need String.eqb kind "listed" && (0 <? many) else "the support is not known" in
      let* possible := section "support" many 0 n in
      let times i := total (range many) (fun e => if possible e =? i then 1 else 0) in
      need forallb (fun i => times i <=? 1) (range n) else "a possible answer is listed twice" in
      Read (Some (fun i => 0 <? times i)).

  Definition read_prior (n : Z) (j : json) : reading (option ((Z -> Z) * Z)) :=
    if is_null j then Read None
    else if lone_kind "uniform" j then Read (Some (fun _ => 1, n))
    else
      let* kind := kind_of j in
      need String.eqb kind "listed" else "a prior by its name lies in a window" in
      let* told := fields ["kind"; "total"] j in
      let* all := whole_number 1 (2 ^ 62) (get "total" told) in
      let* p := section "prior" n 0 (2 ^ 62) in
      Read (Some (p, all)).

  Definition is_listed (l : loss_kind) : bool := match l with Listed _ _ => true | _ => false end.

  Definition read_consumer (graph : asked_for) (outs : Z) (certified : bool) : reading (option consumer) :=
    need Bool.eqb (is_null (at_key "consumer")) (is_null (at_key "expected_loss"))
      else "a loss belongs to a consumer" in
    if is_null (at_key "consumer") then
      need negb certified else "a certificate needs a consumer" in Read None
    else
      let* told := fields ["loss"; "prior"; "remapped"; "support"] (at_key "consumer") in
      let* loss := read_loss (count graph) (get "loss" told) in
      let '(g, loss) := loss in
      let several := match what graph with inr own => Nat.ltb 1 (List.length (lengths own)) | inl _ => false end in
      let numeric := match label_at graph 0 with [] => false | _ => true end in
      need match loss with Absolute | Squared => numeric | _ => true end else "the answers are not numbers" in
      if several && match loss with Distance => true | _ => false end then Uncovered "distances of several lengths"
      else
        let* support := read_support (count graph) (get "support" told) in
        let* prior := read_prior (count graph) (get "prior" told) in
        let has_prior := match prior with Some _ => true | None => false end in
        let averse := match support with Some _ => true | None => false end in
        need Bool.eqb has_prior (certified || negb averse) else "the consumer needs a prior" in
        let* remapped := truth (get "remapped" told) in
        let* guess := if remapped then section "guess_of" outs 0 g else Read (fun o => o) in
        need remapped || (outs <=? g) else "an output has no guess" in
        let* names := if is_null (at_key "outputs") then Read [] else items (at_key "outputs") in
        need is_listed loss || remapped || named_alike graph (map plain names) else "an output has another name" in
        let* stated := fraction long (at_key "expected_loss") in
        Read (Some {| prior := prior; support := support; loss := loss; guesses := g; guess_of := guess;
                      expected_loss := stated |}).

  Definition read_attacker (n : Z) (j : json) : reading (attacker * Z) :=
    if lone_kind "guesser" j then Read (Guesser, n)
    else
      let* kind := kind_of j in
      need String.eqb kind "listed" else "the attacker is not known" in
      let* told := fields ["actions"; "denominator"; "kind"] j in
      let* many := whole_number 0 (2 ^ 24) (get "actions" told) in
      let* unit := whole_number 1 (2 ^ 1024) (get "denominator" told) in
      let* all := section "attack" (many * n) (- wide) wide in
      need existsb (fun e => negb (all e =? 0)) (range (many * n)) else "an attacker can gain nothing" in
      Read (Attacks many unit (fun w i => all (w * n + i)), many).

  Definition read_limit (n : Z) (c : option consumer) (slack : bool) (kind : string) : reading (option limit) :=
    if is_null (at_key "limit") then Read None
    else
      match c with
      | None => Refused "a limit needs a consumer"
      | Some c =>
          need negb slack && match support c with None => true | _ => false end else "a limit is for a prior" in
          let* told := fields ["attacker"; "limited"; "most"; "vulnerability"] (at_key "limit") in
          let* attacker := read_attacker n (get "attacker" told) in
          let '(who, actions) := attacker in
          let certified := negb (String.eqb kind "") in
          let* q := if certified then section "choices" (guesses c * actions) 0 wide else Read (fun _ => 0) in
          let* theta := match at_key "certificate" with
            | Object proof => whole_number 0 (2 ^ 512) (get "weight" proof)
            | _ => Read 0
            end in
          let* most := fraction long (get "most" told) in
          let* gained := fraction long (get "vulnerability" told) in
          (* Certificates without multipliers are hinted in finer units. *)
          let unit := if certified && negb (String.eqb kind "multipliers") then 2 ^ fine else 1 in
          let limited of_loss :=
            Read (Some {| of_loss := of_loss; most := most; vulnerability := gained; who := who;
                          theta := theta * unit; choice := fun k w => q (k * actions + w) * unit |}) in
          match get "limited" told with
          | Text name =>
              if String.eqb name "loss" then limited true
              else if String.eqb name "vulnerability" then limited false
              else Refused "what is limited is not known"
          | _ => Refused "what is limited is not known"
          end
      end.

  (** ** Weights by a rule: they are written out here, and then checked like listed ones *)
  Fixpoint never_rise (levels : list Z) : bool :=
    match levels with
    | x :: ((y :: _) as rest) => (y <=? x) && never_rise rest
    | _ => true
    end.
  Definition read_levels (j : json) : reading (list Z) :=
    let* listed := items j in
    need (0 <? Z.of_nat (List.length listed)) && (Z.of_nat (List.length listed) <=? 2 ^ 17)
      else "there are too few or many levels" in
    let* levels := each (whole_number 1 (2 ^ 480)) listed in
    need never_rise levels else "the levels must not rise" in Read levels.
  (** The last level goes on for ever. *)
  Definition level_at (levels : list Z) : Z -> Z :=
    let listed := place_in (map (fun w => [w]) levels) in
    let last := Z.of_nat (List.length levels) - 1 in
    fun d => hd 0 (listed (Z.min d last)).

  (** max_k ⌈|x_k - y_k| / s_k⌉ *)
  Definition box_distance (steps x y : list Z) : Z :=
    fold_right Z.max 0 (map (fun pair => up (Z.abs (fst pair)) (snd pair)) (combine (differences x y) steps)).
  Definition is_box (graph : asked_for) : bool :=
    match what graph with
    | inl (Count _, _) | inl (Path _, _) | inl (Mean _ _, ChangeOne) => true
    | inl (Sum _ _, r) | inl (Counts _ _, r) => match r with AddRemove => false | _ => true end
    | _ => false
    end.

  (** On a ring, and where any number of coordinates of two values differ. *)
  Definition radial_distance (graph : asked_for) : option (list Z -> list Z -> Z) :=
    let n := count graph in
    let around x y := let d := Z.abs (first x - first y) in Z.min d (n - d) in
    let unequal x y := Z.of_nat (List.length (others (differences x y))) in
    match what graph with
    | inl (Cycle _, _) => Some around
    | inl (CountMod people m, _) => if m <=? people then Some around else None
    | inl (Choice _, _) | inl (Clique _, _) => Some unequal
    | inl (Grid sides, _) => if forallb (fun side => side =? 2) sides then Some unequal else None
    | _ => None
    end.

  Definition read_box_levels (graph : asked_for) : reading (Z * Z * (Z -> Z -> Z)) :=
    let n := count graph in
    let* told := fields ["bits"; "kind"; "levels"; "rest"; "steps"] (at_key "weights") in
    let* places := whole_number 0 481 (get "bits" told) in
    let* levels := read_levels (get "levels" told) in
    let* listed := items (get "steps" told) in
    let* steps := each (whole_number 1 (2 ^ 40)) listed in
    let* rest := whole_number 0 n (get "rest" told) in
    let* factor := section "factors" n 0 (2 ^ 100) in
    if negb (is_box graph) then Uncovered "levels of this question"
    else
      need Nat.eqb (List.length steps) (List.length (label_at graph 0)) else "there must be one step for each side" in
      let weigh := level_at levels in
      let product i o := weigh (box_distance steps (label_at graph i) (label_at graph o)) * factor o in
      let missing := map (fun i => 2 ^ places - total (range n) (product i)) (range n) in
      need forallb (fun x => 0 <=? x) missing else "a row weighs more than 2^bits" in
      let missing_at := place_in (map (fun x => [x]) missing) in
      Read (places, n, fun i o => product i o + (if o =? rest then hd 0 (missing_at i) else 0)).

  Definition read_radial (graph : asked_for) : reading (Z * Z * (Z -> Z -> Z)) :=
    let* told := fields ["bits"; "kind"; "levels"] (at_key "weights") in
    let* places := whole_number 0 481 (get "bits" told) in
    let* levels := read_levels (get "levels" told) in
    let weigh := level_at levels in
    match radial_distance graph with
    | None => Uncovered "radial weights of this question"
    | Some apart => Read (places, count graph, fun i o => weigh (apart (label_at graph i) (label_at graph o)))
    end.

  (** Bits, the number of outputs, and W[i,o]. *)
  Definition read_weights (graph : asked_for) : reading (Z * Z * (Z -> Z -> Z)) :=
    let n := count graph in
    let* kind := kind_of (at_key "weights") in
    if String.eqb kind "dense" then
      let* told := fields ["bits"; "kind"; "outputs"] (at_key "weights") in
      let* places := whole_number 0 481 (get "bits" told) in
      let* outs := whole_number 1 (2 ^ 31) (get "outputs" told) in
      let* w := numbers "weights" n (n * outs) 0 (2 ^ places + 1) in
      Read (places, outs, fun i o => w (o * n + i))
    else if 4000000 <? n * n then Uncovered "a rule for so many answers"
    else if String.eqb kind "levels" then read_box_levels graph
    else read_radial graph.

  (** The file that the header describes, and its limit with the certificate. *)
  Definition read_dense : reading (file * option (consumer * limit * option certificate)) :=
    let* l := privacy_level header in
    let* graph := read_graph in
    let n := count graph in
    if negb (is_null (at_key "window")) then Uncovered "a window"
    else
      let* weights := read_weights graph in
      let '(places, outs, w) := weights in
      let* names :=
        if is_null (at_key "outputs") then
          need outs =? n else "outputs without names are the answers" in Read []
        else labels_of (at_key "outputs") outs in
      let* slack := delta_of header in
      let* ratios := ratios_of header in
      let blank :=
        {| asked := what graph; nodes := n; label := label_at graph; label_unit := over_what graph;
           distance := fun _ _ => 0; epsilon := l; delta := slack; ratios := ratios; bits := places;
           outputs := outs; weight := w; whose := None; proof := None |} in
      let around := table blank in
      let in_a_row := forallb (fun row => same (snd row)
        (filter (fun h => (0 <=? h) && (h <? n)) [fst row - 1; fst row + 1])) around in
      let has_slack := match slack with Some _ => true | None => false end in
      need in_a_row || negb has_slack else "delta is for answers in a row" in
      let apart := far around in
      need forallb (fun i => 0 <=? apart 0 i) (answers blank) else "the graph is not connected" in
      let certified := negb (is_null (at_key "certificate")) in
      need Bool.eqb certified (negb (is_null (at_key "bound"))) else "a bound belongs to a certificate" in
      let* kind := if certified then kind_of (at_key "certificate") else Read "" in
      need negb has_slack || negb certified || String.eqb kind "multipliers" else "delta goes with multipliers" in
      let* c := read_consumer graph outs certified in
      let* limited := read_limit n c has_slack kind in
      let f :=
        {| asked := what graph; nodes := n; label := label_at graph; label_unit := over_what graph;
           distance := apart; epsilon := l; delta := slack; ratios := ratios; bits := places;
           outputs := outs; weight := w; whose := c; proof := None |} in
      let* hinted := match c with
        | Some c =>
            if certified then
              let* stated := fraction long (at_key "bound") in
              let* p := hint kind (at_key "certificate") f c limited in_a_row stated in
              Read (Some {| scale := scale p; price := price p; multiplier := multiplier p; arcs := arcs p;
                            bound := stated |})
            else Read None
        | None => Read None
        end in
      match c, limited with
      | Some c, Some m => Read (f, Some (c, m, hinted))
      | _, _ =>
          Read ({| asked := asked f; nodes := n; label := label f; label_unit := label_unit f; distance := apart;
                   epsilon := l; delta := slack; ratios := ratios; bits := places; outputs := outs;
                   weight := weight f; whose := c; proof := hinted |}, None)
      end.

  (** Why a file is refused. *)
  Definition fault (f : file) : string :=
    let t := table f in
    if negb (check_labels f) then "the answers are not those of the question"
    else if negb (check_ratios f) then "a ratio is not in 1 ... exp(epsilon*length)"
    else if negb (check_rows f) then "a row does not sum to 2^bits"
    else if negb (check_private f t) then "the weights are not private"
    else if match whose f with None => false | Some c => negb (check_consumer f t c) end
      then "the consumer or the stated loss is wrong"
    else "the certificate does not prove the bound".

  Definition judge_dense : reading verdict :=
    let* said := read_dense in
    let '(f, limited) := said in
    if negb (check f) then Refused (fault f)
    else
      match limited with
      | None => Read Holds
      | Some (c, m, p) =>
          need check_gains f c m else "the limit is not kept, or V is not as stated" in
          match p with
          | Some p =>
              need check_limit f c m (table f) p
                else "the certificate does not prove the bound under the limit" in Read Holds
          | None => Read Holds
          end
      end.

  (** ** The worst loss of noise on a line, and its bound *)
  Definition loss_named (j : json) : option loss_name :=
    if lone_kind "binary" j then Some Unequal
    else if lone_kind "distance" j then Some Steps
    else if lone_kind "absolute" j then Some Gaps
    else if lone_kind "squared" j then Some Squares
    else None.

  (** The consumer thinks all answers possible, and takes outputs as they are. *)
  Definition is_worst_case (told : list (string * json)) : bool :=
    absent header ["window"; "limit"] && match at_key "sections" with List [] => true | _ => false end
    && is_null (get "prior" told) && lone_kind "all" (get "support" told)
    && match get "remapped" told with Truth false => true | _ => false end.

  Definition stated_bound : reading (option (Z * Z)) :=
    let certified := negb (is_null (at_key "certificate")) in
    need Bool.eqb certified (negb (is_null (at_key "bound"))) else "a bound belongs to a certificate" in
    if certified then
      let* told := fields ["kind"; "slope"] (at_key "certificate") in
      let* kind := kind_of (at_key "certificate") in
      need String.eqb kind "unbounded" else "the certificate is not known" in
      let* slope := if is_null (get "slope" told) then Read (0, 1) else positive 30 (get "slope" told) in
      need fst slope <? snd slope else "the slope must be below 1" in
      let* bound := fraction long (at_key "bound") in Read (Some bound)
    else Read None.

  Definition judge_line (q : question) (r : relation) (f : Lattice.noise) (l : level) : reading verdict :=
    let* told := fields ["loss"; "prior"; "remapped"; "support"] (at_key "consumer") in
    match is_worst_case told, loss_named (get "loss" told) with
    | true, Some k =>
        let* stated := fraction long (at_key "expected_loss") in
        let* bound := stated_bound in
        need check_line k q r f l stated None else "the stated loss is not that of the noise" in
        Read (if check_line k q r f l stated bound then Holds else Private "the bound is above the one that is proved here")
    | _, _ => Read (Private "this loss of noise on a line is not covered")
    end.

  (** "Noise on a line holds only if the proved check says so": Lines.v says what that means. *)
  Theorem judge_line_checks : forall q r f l, judge_line q r f l = Read Holds ->
    exists k stated bound, check_line k q r f l stated bound = true /\
      fraction long (at_key "expected_loss") = Read stated /\ stated_bound = Read bound.
  Proof.
    intros q r f l H. unfold judge_line in H. destruct (fields _ _) as [told| |]; try discriminate. cbn [bind] in H.
    destruct (is_worst_case told); [|discriminate]. destruct (loss_named _) as [k|]; [|discriminate].
    destruct (fraction _ _) as [stated| |]; try discriminate. cbn [bind] in H.
    destruct stated_bound as [bound| |]; try discriminate. cbn [bind] in H.
    destruct (check_line k q r f l stated None); [|discriminate].
    destruct (check_line k q r f l stated bound) eqn:Hcheck; [|discriminate].
    exists k, stated, bound. auto.
  Qed.

  Definition judge_sharpened : reading verdict :=
    let* said := read_pair header in
    let '(f, g, l) := said in
    if negb (check_noise g l) then Uncovered "coarse noise that is not private by its own ratio"
    else need judge_pair f g l else "the pair of outputs is not private" in Read Holds.

  (** "A pair holds only if the proved check says so": Sharpened.v says what that means. *)
  Theorem judge_sharpened_checks : judge_sharpened = Read Holds ->
    exists f g l, read_pair header = Read (f, g, l) /\ judge_pair f g l = true.
  Proof.
    unfold judge_sharpened. destruct (read_pair header) as [[[f g] l]| |]; try discriminate. cbn [bind]. intros H.
    exists f, g, l. split; [reflexivity|]. destruct (check_noise g l); [|discriminate]. now destruct (judge_pair f g l).
  Qed.

  Definition judge_tuples : reading verdict :=
    let* said := read_joint header in
    let '(q, r, bits, ratio, l) := said in
    if judge_joint q r bits (fst ratio) (snd ratio) l then Read Holds
    else
      match q with
      | Quantiles _ _ _ _ => Uncovered "quantiles whose steps count less than in Joint.v"
      | Bracket _ _ _ _ _ _ => Refused "the tuples are not private"
      end.

  (** "Tuples hold only if the proved check says so": Joint.v says what that means. *)
  Theorem judge_tuples_checks : judge_tuples = Read Holds ->
    exists q r bits ratio l, read_joint header = Read (q, r, bits, ratio, l) /\ judge_joint q r bits (fst ratio) (snd ratio) l = true.
  Proof.
    unfold judge_tuples. destruct (read_joint header) as [[[[[q r] bits] ratio] l]| |]; try discriminate. cbn [bind]. intros H.
    exists q, r, bits, ratio, l. split; [reflexivity|]. destruct (judge_joint q r bits (fst ratio) (snd ratio) l); [reflexivity|].
    now destruct q.
  Qed.

  (** The verdict on a file. *)
  Definition judge : reading verdict :=
    let* kind := kind_of (at_key "weights") in
    if String.eqb kind "lattice" then
      let* said := read_noise header in
      let '(holds, line) := said in
      need holds else "the noise is not private" in
      if bare header then Read Holds
      else
        match line with
        | Some (q, r, f, l) => judge_line q r f l
        | None => Read (Private "losses and bounds of noise on other lattices than a line are not covered")
        end
    else if String.eqb kind "shown" then
      let* holds := read_shown header in
      need holds else "the levels are not private" in Read (Private "how often counts can be shown is not covered")
    else if String.eqb kind "scores" then
      let* holds := read_scores header in
      need holds else "the scores are not private" in Read Holds
    else if String.eqb kind "sharpened" then judge_sharpened
    else if String.eqb kind "tuples" then judge_tuples
    else if existsb (String.eqb kind) ["dense"; "levels"; "radial"] then judge_dense
    else Uncovered ("weights of the kind " ++ kind).

  (** "A file whose weights are listed, or are written out here, holds only if the proved judge says so": Soundness.v and Limits.v
      say what that means for the file that the header describes. *)
  Theorem judge_dense_checks : judge_dense = Read Holds ->
    exists f limited, read_dense = Read (f, limited) /\ check f = true /\
    match limited with
    | None => True
    | Some (c, m, p) => check_gains f c m = true /\
        match p with Some p => check_limit f c m (table f) p = true | None => True end
    end.
  Proof.
    unfold judge_dense. destruct read_dense as [[f limited]| |]; try discriminate. cbn [bind]. intros H.
    exists f, limited. split; [reflexivity|]. destruct (check f); [|discriminate]. cbn [negb] in H. split; [reflexivity|].
    destruct limited as [[[c m] p]|]; [|exact I]. destruct (check_gains f c m); [|discriminate].
    split; [reflexivity|]. destruct p as [p|]; [|exact I]. now destruct (check_limit f c m (table f) p).
  Qed.
End Dense.
