/** The trail as a timeline, newest first, day by day: a line for each event, and what changed when it is opened. */
import { Anchor, Box, Button, Stack, Table, Text, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { Link } from "../../ui/link.tsx";
import { Identifier } from "../../ui/text.tsx";
import { Facts } from "../../ui/facts.tsx";
import classes from "./timeline.module.css";
import { useNames } from "./names.ts";
import { changesOf, kindOf, nameOf, pageOf, verbOf, type Change, type Event, type Names } from "./words.ts";

const day = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

export interface TimelineProps {
  readonly organization: string;
  readonly events: readonly Event[];
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  readonly onMore: () => void;
  readonly onActor: (id: string) => void;
}

export function Timeline({ organization, events, hasMore, isLoading, onMore, onActor }: TimelineProps) {
  const names = useNames(events);
  const days = Map.groupBy(events, ({ attributes }) => day.format(new Date(attributes["created-at"])));
  return (
    <Stack gap="md">
      {[...days].map(([title, some]) => (
        <section key={title} aria-label={title}>
          <Text fw={600} fz="sm" mb={4} component="h2">
            {title}
          </Text>
          <ol className={classes["events"]}>
            {some.map((event) => (
              <Line key={event.id} organization={organization} event={event} names={names} onActor={onActor} />
            ))}
          </ol>
        </section>
      ))}
      {hasMore && (
        <Button variant="default" onClick={onMore} loading={isLoading} mr="auto">
          Show what was before
        </Button>
      )}
    </Stack>
  );
}

interface LineProps {
  readonly organization: string;
  readonly event: Event;
  readonly names: Names;
  readonly onActor: (id: string) => void;
}

function Line({ organization, event, names, onActor }: LineProps) {
  const [isOpen, { toggle }] = useDisclosure();
  const { action, "created-at": at, "actor-name": actor, "actor-id": actorId, "subject-type": type } = event.attributes;
  const page = pageOf(organization, event, names);
  const name = nameOf(event, names);
  return (
    <li className={classes["event"]}>
      <time dateTime={at} className={classes["time"]}>
        {clock.format(new Date(at))}
      </time>
      <Box miw={0}>
        <div className={classes["line"]}>
          <UnstyledButton
            onClick={toggle}
            aria-expanded={isOpen}
            aria-label={`What changed: ${verbOf(action)} ${kindOf(type)} ${name}`}
            className={classes["open"]}
          >
            {isOpen ? <IconChevronDown size={14} /> : <IconChevronRight size={14} />}
          </UnstyledButton>
          <span>
            <Anchor component="button" inherit fw={600} c="inherit" onClick={() => onActor(actorId)}>
              {actor}
            </Anchor>{" "}
            {verbOf(action)} {kindOf(type)}{" "}
            {page ? (
              <Link to={page} className="mono">
                {name}
              </Link>
            ) : (
              <span className="mono">{name}</span>
            )}
          </span>
        </div>
        {isOpen && <Details event={event} />}
      </Box>
    </li>
  );
}

function Details({ event }: { readonly event: Event }) {
  const { action, before, after, attributes } = { ...event.attributes, attributes: event.attributes };
  const changes = changesOf(event);
  return (
    <Stack gap="xs" className={classes["details"]}>
      {changes.length > 0 && (
        <Table aria-label="What changed" withTableBorder>
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">Attribute</Table.Th>
              {before !== null && <Table.Th scope="col">Before</Table.Th>}
              {after !== null && <Table.Th scope="col">After</Table.Th>}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {changes.map((change) => (
              <Row key={change.name} change={change} isMade={before === null} isGone={after === null} />
            ))}
          </Table.Tbody>
        </Table>
      )}
      <Facts
        facts={[
          ["Action", <Identifier key="action" value={action} />],
          [kindOf(attributes["subject-type"]), <Identifier key="subject" value={attributes["subject-id"]} />],
          ["By", `${attributes["actor-kind"]} ${attributes["actor-id"]}`],
          ["With", attributes["token-id"] ?? "a session"],
          ["Request", <Identifier key="request" value={attributes["request-id"]} />],
        ]}
      />
    </Stack>
  );
}

function Row({
  change,
  isMade,
  isGone,
}: {
  readonly change: Change;
  readonly isMade: boolean;
  readonly isGone: boolean;
}) {
  return (
    <Table.Tr>
      <Table.Td>{change.name}</Table.Td>
      {!isMade && <Table.Td className={classes["value"]}>{change.before ?? "–"}</Table.Td>}
      {!isGone && <Table.Td className={classes["value"]}>{change.after ?? "–"}</Table.Td>}
    </Table.Tr>
  );
}
