/**
 * A Homebrew formula for the archives of a release. A formula and not a cask: what a cask brings is quarantined, and these
 * executables are not notarised.
 */

export interface Archive {
  readonly target: string;
  readonly file: string;
  /** SHA-256 in hex. */
  readonly digest: string;
}

export interface FormulaFacts {
  readonly description: string;
  readonly version: string;
  readonly license: string;
  /** URL under which the archives are. */
  readonly baseUrl: string;
  readonly archives: readonly Archive[];
}

/** Homebrew's words for the platforms that it runs on; it has none for musl. */
const platforms = [
  { os: "macos", archs: { arm: "darwin-arm64", intel: "darwin-x64" } },
  { os: "linux", archs: { arm: "linux-arm64", intel: "linux-x64" } },
] as const;

export function formula({ description, version, license, baseUrl, archives }: FormulaFacts): string {
  const places = platforms.flatMap(({ os, archs }) => {
    const known = Object.entries(archs).flatMap(([arch, target]) => {
      const archive = archives.find((each) => each.target === target);
      return archive === undefined ? [] : [place(arch, baseUrl, archive)];
    });
    return known.length === 0 ? [] : [`  on_${os} do\n${known.join("")}  end\n`];
  });
  return `class Wsh < Formula
  desc ${ruby(description)}
  homepage ${ruby(baseUrl)}
  version ${ruby(version)}
  license ${ruby(license)}

${places.join("\n")}
  def install
    bin.install "wsh"
    man1.install "wsh.1"
    generate_completions_from_executable(bin/"wsh", "completions")
  end

  service do
    run [opt_bin/"wsh", "server", "--bind", "none"]
    keep_alive successful_exit: false
    process_type :interactive
    environment_variables PATH: std_service_path_env, LANG: "en_US.UTF-8"
  end

  test do
    assert_equal "wsh #{version}", shell_output("#{bin}/wsh --version").strip
  end
end
`;
}

function place(arch: string, baseUrl: string, { file, digest }: Archive): string {
  return `    on_${arch} do
      url ${ruby(`${baseUrl}/${file}`)}
      sha256 ${ruby(digest)}
    end
`;
}

/** A string in Ruby that stands for itself. */
function ruby(text: string): string {
  return `"${text.replace(/["\\#]/g, "\\$&")}"`;
}
