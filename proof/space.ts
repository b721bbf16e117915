/** Small disks that can be filled: each is a tmpfs in a mount namespace, which `unshare` creates without root if the kernel allows it. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Owner } from "../deploy/cluster/parts.ts";

const variable = "CADASTRE_CLUSTER_SMALL_DISKS";
const defaultMegabytes = 384;

export const hasSmallDisks = (): boolean => process.env[variable] === "yes";

/** Starts this program again in a mount namespace and returns its exit code; undefined if that isn't possible here. */
export async function startedWithSmallDisks(): Promise<number | undefined> {
  const isRoot = process.getuid?.() === 0;
  const words = [...(isRoot ? [] : ["--user", "--map-current-user", "--keep-caps"]), "--mount", "--"];
  if (spawnSync("unshare", [...words, "true"], { stdio: "ignore" }).status !== 0) return undefined;
  const self = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const child = spawn("unshare", [...words, ...self], {
    stdio: "inherit",
    env: { ...process.env, [variable]: "yes" },
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
}

export function mountSmallDisk(folder: string, owner: Owner | undefined, megabytes = defaultMegabytes): void {
  const ownerOptions = owner === undefined ? "" : `,uid=${owner.uid},gid=${owner.gid}`;
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=0700${ownerOptions}`, "cadastre", folder]);
}

export function unmount(folder: string): void {
  execFileSync("umount", ["-l", folder]);
}

/** Uses up all free space. */
export function fill(folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  const chunk = Buffer.alloc(1 << 20);
  let left = bavail * bsize;
  try {
    for (; left > 0; left -= chunk.length) writeFileSync(filler(folder), chunk.subarray(0, left), { flag: "a" });
  } catch {
    // Another process used the rest.
  }
}

export const free = (folder: string): void => rmSync(filler(folder), { force: true });

const filler = (folder: string) => join(folder, "filler");
