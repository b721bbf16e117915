/** The command line. */
import { serve } from "../main.ts";
import { readSettings } from "../settings.ts";
const service = await serve(readSettings({ environment: process.env }));
process.on("SIGTERM", () => void service.stop().then(() => process.exit(0)));
process.on("SIGINT", () => void service.stop().then(() => process.exit(0)));
