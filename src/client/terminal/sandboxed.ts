/** Bundle for the interpreter of `wsh_script`: the language, without access to anything else. */
import { WshError } from "../../protocol/errors.ts";
import { language, Terminal, TerminalFailure } from "./language.ts";
import { printedJson, printedText } from "./printing.ts";

Object.assign(globalThis, { language, printedJson, printedText, WshError, Terminal, TerminalFailure });
