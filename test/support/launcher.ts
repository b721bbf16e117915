/** The program that tests start as a process: the checkout's, or with CADASTRE_TEST_PACKAGE that of the package in this folder. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = process.env["CADASTRE_TEST_PACKAGE"] ?? fileURLToPath(new URL("../..", import.meta.url));

export const launcher = join(folder, "bin/cadastre.js");
