/** Saving what the API can also answer as a table. A link can't ask for another media type, so the answer is fetched and then saved. */
import { isAboutSession } from "./client.ts";
import { ApiError, problemsIn, SessionEnded, unreachable } from "./errors.ts";

export async function downloadTable(address: string, name: string): Promise<void> {
  const failed = () => {
    throw unreachable();
  };
  const response = await fetch(address, { headers: { accept: "text/csv" } }).catch(failed);
  if (response.status === 401 && (await isAboutSession())) throw new SessionEnded();
  if (!response.ok) throw new ApiError(response.status, problemsIn(response, await response.text()));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob().catch(failed));
  link.download = name;
  link.click();
  // The browser has taken it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
