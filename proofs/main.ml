(* judge FILE…: one line for each file. "judge -" reads the names from standard input. *)

module Whole = Z
open Kernel
module Z = Whole

let judged data =
  let header, seen = Reader.opened data in
  let numbers = Reader.numbers data seen in
  let place_in listed = let all = Array.of_list listed in fun i -> all.(Z.to_int i) in
  let hint kind told f c limited path bound = Read (Hints.certificate numbers kind told f c limited path bound) in
  match judge numbers place_in Hints.distances hint header with
  | Read Holds when Hashtbl.length seen > 0 -> Refused "a section has no meaning"
  | said -> said

let verdict name =
  match
    let channel = open_in_bin name in
    let data = really_input_string channel (in_channel_length channel) in
    close_in channel;
    judged data
  with
  | Read Holds -> "holds"
  | Read (Private rest) -> "private: " ^ rest
  | Refused text | exception Reader.Stop (Refused text) -> "refused: " ^ text
  | Uncovered text | exception Reader.Stop (Uncovered text) -> "not covered: " ^ text
  | exception Sys_error text -> "error: " ^ text
  | exception (Reader.Stop _ | Not_found | Invalid_argument _ | Failure _ | Z.Overflow | Division_by_zero) ->
    "refused: a number or a key is not what it must be"

let () =
  let show name = print_string (verdict name ^ "\n"); flush stdout in
  match Array.to_list Sys.argv with
  | [_; "-"] -> (try while true do show (input_line stdin) done with End_of_file -> ())
  | _ :: (_ :: _ as names) -> List.iter show names
  | _ -> prerr_endline "usage: judge FILE…, or judge - with the names on standard input"; exit 2
