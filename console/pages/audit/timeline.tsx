/** The audit log as a timeline, newest first, by day: a sentence for each event, and its changes when expanded. */
import { Anchor, Box, Button, Stack, Table, Text, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { Link } from "../../ui/link.tsx";
import { capitalized, Identifier } from "../../ui/text.tsx";
import { DescriptionList } from "../../ui/page.tsx";
import classes from "./timeline.module.css";
import type { SentenceText } from "./event-parts.ts";
import { plainOf, sentenceOf } from "./sentences.ts";
import { actorOf, changesOf, kindOf, type AttributeDiff, type Event } from "./words.ts";

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
              <Line key={event.id} organization={organization} event={event} onActor={onActor} />
            ))}
          </ol>
        </section>
      ))}
      {hasMore && (
        <Button variant="default" onClick={onMore} loading={isLoading} mr="auto">
          Load older events
        </Button>
      )}
    </Stack>
  );
}

interface TimelineEntryProps {
  readonly organization: string;
  readonly event: Event;
  readonly onActor: (id: string) => void;
}

function Line({ organization, event, onActor }: TimelineEntryProps) {
  const [isOpen, { toggle }] = useDisclosure();
  const { "created-at": at, "actor-id": actorId } = event.attributes;
  const sentence = sentenceOf(organization, event);
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
            aria-label={`Details: ${plainOf(sentence)}`}
            className={classes["open"]}
          >
            {isOpen ? <IconChevronDown size={14} /> : <IconChevronRight size={14} />}
          </UnstyledButton>
          <span>
            <Anchor component="button" inherit fw={600} c="inherit" onClick={() => onActor(actorId)}>
              {actorOf(event)}
            </Anchor>{" "}
            {sentence.map((part, at) => (
              <SentencePart key={at} part={part} />
            ))}
          </span>
        </div>
        {isOpen && <Details event={event} />}
      </Box>
    </li>
  );
}

function SentencePart({ part }: { readonly part: SentenceText }) {
  if (typeof part === "string") return part;
  return part.to ? (
    <Link to={part.to} fw={600}>
      {part.name}
    </Link>
  ) : (
    <strong>{part.name}</strong>
  );
}

function Details({ event }: { readonly event: Event }) {
  const { attributes } = event;
  const { action, before, after, related } = attributes;
  const nameOf = (id: string) => related.find((each) => each.id === id)?.name;
  const changes = changesOf(event);
  return (
    <Stack gap="xs" className={classes["details"]}>
      {changes.length > 0 && (
        <Table aria-label="Changes" withTableBorder>
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">Attribute</Table.Th>
              {before !== null && <Table.Th scope="col">Before</Table.Th>}
              {after !== null && <Table.Th scope="col">After</Table.Th>}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {changes.map((change) => (
              <Row key={change.name} change={change} isNew={before === null} isGone={after === null} />
            ))}
          </Table.Tbody>
        </Table>
      )}
      <DescriptionList
        items={[
          ["Action", <Identifier key="action" value={action} />],
          [
            capitalized(kindOf(attributes["subject-type"])),
            <Identifier key="subject" value={attributes["subject-id"]} />,
          ],
          ["Actor", <Identifier key="actor" value={attributes["actor-id"]} />],
          ["Token", tokenOf(attributes["token-id"], nameOf)],
          ["Request", <Identifier key="request" value={attributes["request-id"]} />],
        ]}
      />
    </Stack>
  );
}

function tokenOf(id: string | null, nameOf: (id: string) => string | undefined) {
  if (id === null) return "none";
  const name = nameOf(id);
  return <Identifier value={id}>{name === undefined ? id : `${name} (${id})`}</Identifier>;
}

function Row({
  change,
  isNew,
  isGone,
}: {
  readonly change: AttributeDiff;
  readonly isNew: boolean;
  readonly isGone: boolean;
}) {
  return (
    <Table.Tr>
      <Table.Td>{change.name}</Table.Td>
      {!isNew && <Table.Td className={classes["value"]}>{change.before ?? "–"}</Table.Td>}
      {!isGone && <Table.Td className={classes["value"]}>{change.after ?? "–"}</Table.Td>}
    </Table.Tr>
  );
}
