/** Exports the whole list as CSV, not only the loaded rows. */
import { Button } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { showError } from "../api/actions.ts";
import { isAboutSession } from "../api/client.ts";
import { ApiError, problemsIn, SessionEnded, unreachable } from "../api/errors.ts";

export function ExportButton({ address, name }: { readonly address: string; readonly name: string }) {
  const action = useMutation({ mutationFn: () => downloadTable(address, name), onError: showError });
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

/** A link can't request another media type. */
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
  // By then the browser has saved the file.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
