/** The doctor's report on macOS. */
import { expect, test } from "bun:test";
import { keychain, productVersion, utf8Advice } from "../../../src/cli/doctor/system-words.ts";

test("a session over ssh gets a note about its keychain, on macOS alone", () => {
  const ssh = { SSH_CONNECTION: "10.0.0.1 5 10.0.0.2 22" };
  expect(keychain("darwin", ssh)).toMatchObject([
    { state: "note", advice: expect.stringContaining("unlock-keychain") },
  ]);
  expect(keychain("darwin", { SSH_TTY: "/dev/ttys001" })).toHaveLength(1);
  expect(keychain("darwin", {})).toEqual([]);
  expect(keychain("linux", ssh)).toEqual([]);
});

test("the version has its public name", () => {
  const plist = "<dict>\n\t<key>ProductVersion</key>\n\t<string>14.7.1</string>\n</dict>";
  expect(productVersion(plist)).toBe("macOS 14.7.1, ");
  expect(productVersion("")).toBe("");
  expect(utf8Advice("darwin")).toContain("en_US.UTF-8");
  expect(utf8Advice("linux")).toContain("C.UTF-8");
});
