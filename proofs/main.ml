(* judge FILE…: one line for each file. "judge -" reads the names from standard input. *)

module Whole = Z
open Kernel
module Z = Whole

let reason f =
  let t = table f in
  let failed = List.find_opt (fun (_, holds) -> not (Lazy.force holds)) [
    "the answers are not those of the question", lazy (check_labels f);
    "a ratio is not in 1 … exp(ε·length)", lazy (check_ratios f);
    "a row does not sum to 2^bits", lazy (check_rows f);
    "the weights are not private", lazy (check_private f t);
    "the consumer or the stated loss is wrong",
    lazy (match f.whose with None -> true | Some c -> check_consumer f t c)] in
  match failed with Some (text, _) -> text | None -> "the certificate does not prove the bound"

let verdict name =
  match
    let channel = open_in_bin name in
    let data = really_input_string channel (in_channel_length channel) in
    close_in channel;
    let header, seen = Files.opened data in
    match Reader.kind_of (Reader.get "weights" header) with
    | "lattice" ->
      let is_private, bare = Files.noise header seen in
      if not is_private then "refused: the noise is not private"
      else if bare then "holds" else "private: losses and bounds of noise on a lattice are not covered"
    | "scores" ->
      if Files.scores header seen then "holds" else "refused: the scores are not private"
    | "shown" ->
      if Files.shown header seen then "private: how often counts can be shown is not covered"
      else "refused: the levels are not private"
    | _ ->
      let f, limited = Files.dense header seen data in
      if not (check f) then "refused: " ^ reason f else
        match limited with
        | None -> "holds"
        | Some (c, m, _) when not (check_gains f c m) -> "refused: the limit is not kept, or V is not as stated"
        | Some (c, m, Some p) when not (check_limit f c m (table f) p) ->
          "refused: the certificate does not prove the bound under the limit"
        | Some _ -> "holds"
  with
  | text -> text
  | exception Reader.Refused text -> "refused: " ^ text
  | exception Reader.Uncovered text -> "not covered: " ^ text
  | exception Sys_error text -> "error: " ^ text
  | exception (Not_found | Invalid_argument _ | Failure _ | Z.Overflow | Division_by_zero) ->
    "refused: a number or a key is not what it must be"

let () =
  let show name = print_string (verdict name ^ "\n"); flush stdout in
  match Array.to_list Sys.argv with
  | [_; "-"] -> (try while true do show (input_line stdin) done with End_of_file -> ())
  | _ :: (_ :: _ as names) -> List.iter show names
  | _ -> prerr_endline "usage: judge FILE…, or judge - with the names on standard input"; exit 2
