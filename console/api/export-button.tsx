/** Saves a list as CSV: all of it, whatever its length, not only what the page has loaded. */
import { Button } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { tellRefusal } from "./actions.ts";
import { downloadTable } from "./download.ts";

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
