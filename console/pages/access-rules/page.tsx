/** Access rules: policies that every change of access must satisfy. */
import { Badge, Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { accessRules } from "../../api/list-queries.ts";
import { List } from "../../components/list.tsx";
import { Empty } from "../../components/states.tsx";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { Link, LinkButton } from "../../ui/link.tsx";
import { Dimmed, When } from "../../ui/text.tsx";
import { enforcementWords } from "./words.ts";
import { RulesFrame } from "./frame.tsx";

export default function AccessRulesPage() {
  return <RulesFrame>{(organization) => <Rules organization={organization} />}</RulesFrame>;
}

function Rules({ organization }: { readonly organization: string }) {
  const { search } = useAddress();
  const query = useQuery(accessRules(organization, search));
  return (
    <List
      one="rule"
      label="Rules"
      isSearched={false}
      query={query}
      keyOf={({ id }) => id}
      empty={
        <Empty title="No rules yet" action={<LinkButton to={paths.newAccessRule(organization)}>New rule</LinkButton>}>
          A rule refuses changes of access that it matches, or asks for an approval. For example: access to production
          expires within a week.
        </Empty>
      }
      columns={() => [
        {
          title: "Name",
          cell: ({ id, attributes }) => (
            <>
              <Group gap="xs">
                <Link to={paths.accessRule(organization, id)}>{attributes.name}</Link>
                {!attributes.enabled && <Badge color="gray">disabled</Badge>}
              </Group>
              {attributes.description && <Dimmed>{attributes.description}</Dimmed>}
            </>
          ),
        },
        { title: "Enforcement", cell: ({ attributes }) => enforcementWords[attributes.enforcement].label },
        { title: "Changed", isExtra: true, cell: ({ attributes }) => <When time={attributes["updated-at"]} /> },
      ]}
    />
  );
}
