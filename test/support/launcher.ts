/** The program that tests start as a process: of the checkout, or of the package in CADASTRE_TEST_PACKAGE. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = process.env["CADASTRE_TEST_PACKAGE"] ?? fileURLToPath(new URL("../..", import.meta.url));

export const launcher = join(folder, "bin/cadastre.js");
