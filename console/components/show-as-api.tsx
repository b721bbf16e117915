/** "Show as API": the requests behind the page as `curl` commands. */
import { ActionIcon, Drawer, Stack, Text, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconCode } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { CodeToCopy } from "../ui/text.tsx";
import { addressOf, type OperationInput, type ApiOperation } from "../api/client.ts";

/** The shell makes these requests on every page. */
const shellOperations = ["GET /account/details", "GET /sessions", "GET /organizations"];

const isOperation = (key: readonly unknown[]): key is [ApiOperation, OperationInput<ApiOperation>] =>
  typeof key[0] === "string" && key[0].startsWith("GET /");

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const curlOf = (address: string) => `curl -H "Authorization: Bearer $TOKEN" \\\n  ${quoted(location.origin + address)}`;

export function ShowAsApi() {
  const [opened, { open, close }] = useDisclosure();
  const client = useQueryClient();
  const addresses = opened
    ? client
        .getQueryCache()
        .findAll({ type: "active" })
        .map(({ queryKey }) => queryKey)
        .filter(isOperation)
        .filter(([operation]) => !shellOperations.includes(operation))
        .map(([operation, input]) => addressOf(operation, input))
    : [];
  return (
    <>
      <Tooltip label="Show as API">
        <ActionIcon variant="subtle" color="gray" onClick={open} aria-label="Show as API">
          <IconCode size={16} />
        </ActionIcon>
      </Tooltip>
      <Drawer
        opened={opened}
        onClose={close}
        title="API requests of this page"
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <Stack>
          <Text c="dimmed">
            Everything on this page comes from the public API. Set <code>TOKEN</code> to one of your API tokens to run
            these commands.
          </Text>
          {[...new Set(addresses)].map((address) => (
            <CodeToCopy key={address} label={decodeURIComponent(address)} text={curlOf(address)} />
          ))}
        </Stack>
      </Drawer>
    </>
  );
}
