/** `cadastre engine …`: lists, fetches and removes the engines in `CADASTRE_ENGINES`. */
import { trustCertificates } from "../agent/agent-directory.ts";
import { EngineCache, type EngineCacheSettings } from "../agent/fetching/cache.ts";
import { EngineRefusal, EngineUnavailable } from "../agent/fetching/faults.ts";
import { checkEngineMirror, engineFetchTable } from "../agent/fetching/settings.ts";
import { type EngineName, engineText, isEngineVersion, products } from "../agent/products.ts";
import { agentSettingTable } from "../agent/settings.ts";
import { AppError } from "../kernel/errors.ts";
import { readTable, type Setting, type SettingSources, type SettingTable } from "../kernel/settings.ts";
import { quoted } from "../kernel/text.ts";
import { settingTable } from "../settings.ts";
import { type Command, jsonOption, printRows, stopSignal, UsageError } from "./command.ts";

const listSettings = { engines: agentSettingTable.engines } satisfies SettingTable;
const fetchSettings = { ...listSettings, ...engineFetchTable, ca: agentSettingTable.ca } satisfies SettingTable;

/** The settings file can be an agent's or a server's. */
const knownSettings: SettingTable = Object.fromEntries(
  Object.entries<Setting<unknown>>({ ...agentSettingTable, ...settingTable }).map(([name, setting]) => {
    const { isRequired, ...optional } = setting;
    return [name, isRequired === true ? optional : setting];
  }),
);

const argument = { shape: "ENGINE VERSION", words: 2, doc: "terraform or tofu, and an exact version such as 1.9.5." };

/** Throws SettingError. */
function openCache(sources: SettingSources, command: string): EngineCache {
  const settings = readTable(knownSettings, sources, {
    help: `cadastre ${command} --help`,
  }) as unknown as EngineCacheSettings & {
    readonly ca: string | undefined;
  };
  checkEngineMirror(settings);
  if (settings.ca !== undefined) trustCertificates(settings.ca);
  return new EngineCache(settings);
}

function parseEngine(words: string): EngineName {
  const [name = "", version = ""] = words.split(" ");
  const product = products.find((each) => each === name);
  if (product === undefined) throw new UsageError(`ENGINE must be terraform or tofu, not ${quoted(name)}.`);
  if (!isEngineVersion(version))
    throw new UsageError(`VERSION must be an exact version such as 1.9.5, not ${quoted(version)}.`);
  return { product, version };
}

export const listEnginesCommand: Command = {
  name: "engine list",
  summary: "List the engines that the workers or agents of this machine have",
  ownSettings: listSettings,
  options: jsonOption,
  details: ["Example: cadastre engine list"],
  async run({ terminal, isOn, sources }) {
    const engines = await openCache(sources, "engine list").list();
    const rows = engines.map(({ product, version, bytes, isFetched, usedAt }) => ({
      engine: product,
      version,
      bytes,
      source: isFetched ? "fetched" : "installed",
      "last-used": usedAt?.toISOString() ?? null,
    }));
    printRows(terminal, rows, { json: isOn("json"), empty: "There are no engines." });
  },
};

export const fetchEngineCommand: Command = {
  name: "engine fetch",
  summary: "Fetch an engine from the mirror, and verify it",
  argument,
  ownSettings: fetchSettings,
  details: [
    "Agents fetch missing engines themselves; this command does it in advance. The engine is verified by its publisher's signature. Nothing happens if it is already there.",
    "Example: cadastre engine fetch terraform 1.9.5",
  ],
  async run({ terminal, argument: words, sources }) {
    const engine = parseEngine(words);
    const cache = openCache(sources, "engine fetch");
    try {
      const fetched = await cache.fetch(engine, stopSignal());
      terminal.out(
        fetched === undefined
          ? `${engineText(engine)} is already there.`
          : `Fetched ${engineText(engine)} from ${fetched.archive}, signed with the key ${fetched.key}.`,
      );
    } catch (error) {
      const { message } = error as Error;
      if (error instanceof EngineRefusal) throw new AppError("conflict", message);
      if (error instanceof EngineUnavailable)
        throw new AppError("unavailable", `${engineText(engine)} can't be fetched: ${message}.`);
      throw error;
    }
  },
};

export const removeEngineCommand: Command = {
  name: "engine remove",
  summary: "Remove an engine that no job uses",
  argument,
  ownSettings: listSettings,
  details: ["An agent fetches it again when a run needs it.", "Example: cadastre engine remove terraform 1.9.5"],
  async run({ terminal, argument: words, sources }) {
    const engine = parseEngine(words);
    const cache = openCache(sources, "engine remove");
    if (!(await cache.has(engine))) throw new AppError("not-found", `${engineText(engine)} is not there.`);
    if (!(await cache.remove(engine)))
      throw new AppError("conflict", `A job uses ${engineText(engine)}. Try again when it has ended.`);
    terminal.out(`Removed ${engineText(engine)}.`);
  },
};
