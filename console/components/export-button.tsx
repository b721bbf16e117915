/** Saves a list as CSV: all of it, whatever its length, not only what the page has loaded. */
import { Button } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { tellRefusal } from "../api/actions.ts";
import { isAboutSession } from "../api/client.ts";
import { ApiError, problemsIn, SessionEnded, unreachable } from "../api/errors.ts";

export function ExportButton({ address, name }: { readonly address: string; readonly name: string }) {
  const action = useMutation({ mutationFn: () => downloadTable(address, name), onError: tellRefusal });
  return (
    <Button
      variant="default"
      ml="auto"
      leftSection={<IconDownload size={14} />}
      loading={action.isPending}
      onClick={() => action.mutate()}
    >
      Export CSV
    </Button>
  );
}

/** A link can't ask for another media type, so the answer is fetched and then saved. */
async function downloadTable(address: string, name: string): Promise<void> {
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
