/**
 * The settings of this session process: one object, which all code here reads when it acts. So a change of the
 * file takes effect as soon as the file is read. Invariant: a file with an error changes nothing.
 */
import * as v from "valibot";
import { useTheme } from "../compositor/theme.ts";
import type { Instance } from "../instance/paths.ts";
import { ReloadSchema } from "../protocol/control.ts";
import type { EventConsumer } from "../protocol/event-consumers.ts";
import { useWordSeparators } from "../protocol/word-separators.ts";
import { changedStyles, type LoadedSettings, loadSettings, settingsFault, wantedOf } from "../settings/settings.ts";
import type { Settings } from "../settings/table.ts";
import { watchConfig } from "../settings/watch.ts";

export class LiveSettings implements Disposable {
  /** Changed in place. */
  readonly values: Settings;
  /** Current hooks and notices of the settings. */
  eventConsumers: readonly EventConsumer[];
  private readonly watcher: Disposable;
  private readonly listeners: (() => void)[] = [];

  /** @param reportFault receives the file's error */
  constructor(
    private readonly instance: Instance,
    loaded: LoadedSettings,
    private readonly reportFault: (fault: string) => void,
  ) {
    this.values = { ...loaded.values };
    this.eventConsumers = wantedOf(loaded);
    useTheme(changedStyles(loaded.theme));
    useWordSeparators(loaded.values.word_separators);
    this.watcher = watchConfig(instance.configFile, () => {
      const fault = this.reload();
      if (fault !== null) this.reportFault(fault);
    });
  }

  [Symbol.dispose](): void {
    this.watcher[Symbol.dispose]();
  }

  /** @param listener runs when the settings have changed */
  onChanged(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** The answer to `peer.reload` of `wsh config`: the effective settings, and the file's error. */
  answerReload(input: unknown): { readonly fault: string | null; readonly settings: Settings } {
    const { ask } = v.parse(ReloadSchema, input);
    return { fault: ask ? null : this.reload(), settings: this.values };
  }

  /**
   * Reads the file again. @returns the file's error, which leaves the settings unchanged; null: the new settings
   * are in effect
   */
  private reload(): string | null {
    try {
      const loaded = loadSettings(this.instance, { env: process.env });
      const { values, theme } = loaded;
      Object.assign(this.values, values);
      this.eventConsumers = wantedOf(loaded);
      useTheme(changedStyles(theme));
      useWordSeparators(values.word_separators);
    } catch (thrown) {
      return settingsFault(thrown);
    }
    for (const listener of this.listeners) listener();
    return null;
  }
}
