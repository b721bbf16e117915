/** What an operator reads when settings are refused. */
import { expect } from "vitest";
import { SettingError } from "../../src/kernel/settings.ts";
import { readSettings } from "../../src/settings.ts";

export function refusedSettings(sources: Parameters<typeof readSettings>[0]): string {
  try {
    readSettings(sources);
  } catch (error) {
    expect(error).toBeInstanceOf(SettingError);
    return (error as SettingError).message;
  }
  throw new Error("the settings were accepted");
}
