/** What the interpreter of `wsh_script` loads: the language, and nothing that reaches anything else. */
import { WshError } from "../../protocol/errors.ts";
import { language, TerminalFailure } from "./language.ts";

Object.assign(globalThis, { language, WshError, TerminalFailure });
