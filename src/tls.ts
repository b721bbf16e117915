/** Loads the TLS certificate and key, and reloads changed files. An invalid pair leaves the current one in use. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { SettingError } from "./kernel/settings.ts";

export interface TlsFiles {
  readonly tlsCert: string;
  readonly tlsKey: string;
}

export interface TlsPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Throws SettingError. */
export function readPair({ tlsCert, tlsKey }: TlsFiles): TlsPair {
  try {
    const pair = { cert: readFileSync(tlsCert), key: readFileSync(tlsKey) };
    // Fails for files that are not PEM, and for some pairs that don't match.
    createSecureContext(pair);
    requireMatchingKey(pair);
    return pair;
  } catch (error) {
    throw new SettingError(
      `The TLS files can't be used (${(error as Error).message}). Check CADASTRE_TLS_CERT and CADASTRE_TLS_KEY.`,
    );
  }
}

/** A secure context accepts a certificate and a key of different kinds, with which every handshake fails. */
function requireMatchingKey({ cert, key }: TlsPair): void {
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
    throw new Error("the key is not that of the first certificate in the file");
}

interface ContextReceiver {
  setSecureContext(pair: TlsPair): void;
}

interface TlsLogger {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const pollMs = 5_000;

/** Polls, because replaced symbolic links and mounted secrets cause no file events. */
export class TlsWatch {
  readonly #files: TlsFiles;
  readonly #server: ContextReceiver;
  readonly #logger: TlsLogger;
  readonly #timer: NodeJS.Timeout;
  #inUse: TlsPair;
  #lastFingerprint: string;

  constructor(
    files: TlsFiles,
    pair: TlsPair,
    { server, logger }: { server: ContextReceiver; logger: TlsLogger },
    everyMs = pollMs,
  ) {
    this.#files = files;
    this.#server = server;
    this.#logger = logger;
    this.#inUse = pair;
    this.#lastFingerprint = this.#fingerprint();
    this.#timer = setInterval(() => this.#reloadIfChanged(), everyMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  reload(): void {
    this.#lastFingerprint = this.#fingerprint();
    try {
      const pair = readPair(this.#files);
      if (pair.cert.equals(this.#inUse.cert) && pair.key.equals(this.#inUse.key))
        return this.#logger.info({ validUntil: validUntil(pair) }, "TLS certificate unchanged");
      this.#server.setSecureContext(pair);
      this.#inUse = pair;
      this.#logger.info({ validUntil: validUntil(pair) }, "TLS certificate replaced");
    } catch (error) {
      this.#logger.error(
        { reason: (error as Error).message, validUntil: validUntil(this.#inUse) },
        "TLS certificate not replaced",
      );
    }
  }

  /** While the files don't match, the second is about to change too. */
  #reloadIfChanged(): void {
    if (this.#fingerprint() !== this.#lastFingerprint) this.reload();
  }

  #fingerprint(): string {
    return [this.#files.tlsCert, this.#files.tlsKey].map(fingerprintOf).join();
  }
}

const validUntil = ({ cert }: TlsPair): string => new X509Certificate(cert).validToDate.toISOString();

function fingerprintOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? "none" : `${stats.ino} ${stats.size} ${stats.mtimeMs}`;
}
