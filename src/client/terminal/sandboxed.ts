/** Bundle for the interpreter of `wsh_script`: the language, without access to anything else. */
import { WshError } from "../../protocol/errors.ts";
import { printedJson, printedText } from "./brief.ts";
import { language, TerminalFailure } from "./language.ts";

Object.assign(globalThis, { language, printedJson, printedText, WshError, TerminalFailure });
