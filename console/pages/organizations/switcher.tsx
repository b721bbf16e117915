/** The current organization, and a menu of the caller's others. */
import { Button, Menu } from "@mantine/core";
import { IconSelector } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { apiQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useGo } from "../../ui/link.tsx";

const shown = 20;

export function OrganizationSwitcher({ organization }: { readonly organization: string }) {
  const go = useGo();
  const [opened, setOpened] = useState(false);
  const all = useQuery({ ...apiQuery("GET /organizations", { query: { "page[size]": shown } }), enabled: opened });
  return (
    <Menu position="bottom-start" width={240} opened={opened} onChange={setOpened}>
      <Menu.Target>
        <Button
          variant="subtle"
          color="gray"
          px={8}
          rightSection={<IconSelector size={14} />}
          aria-label={`Organization ${organization}`}
          maw={200}
        >
          {organization}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {all.data?.data.map(({ id, attributes }) => (
          <Menu.Item key={id} onClick={() => go(paths.organization(attributes.name))}>
            {attributes.name}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => go(paths.home())}>All organizations</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
