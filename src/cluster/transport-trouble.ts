/** Describes why a gateway did not answer: Bun's error messages are written for the program's author. */
import { errorCode } from "../base/errno.ts";
import { tlsTrouble } from "./certificate-step.ts";

const descriptions: Readonly<Record<string, string>> = {
  ECONNRESET: "the connection was cut",
  ECONNREFUSED: "nothing listens there",
  ENOENT: "nothing listens there",
  ENOTFOUND: "no host has this name",
  ETIMEDOUT: "no answer in time",
};

export function transportTrouble(error: Error): string {
  if (error.name === "TimeoutError") return "no answer in time";
  return (
    tlsTrouble(error) ?? descriptions[errorCode(error)] ?? error.message.replace(/ For more information, .*$/s, "")
  );
}
