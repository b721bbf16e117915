/** Checks at start that the definitions are consistent. */
import { aliases } from "./aliases.ts";
import type { Operation, MountedResource, ResourceDefinition } from "./define.ts";

export function verifyResources<Context>(
  resources: readonly MountedResource<Context>[],
  unimplementedTypes: readonly string[] = [],
): void {
  const problems: string[] = [];
  const types = new Set([...resources.map(({ definition }) => definition.type), ...unimplementedTypes]);
  const routes = new Map<string, string>();
  const ids = new Set<string>();
  for (const { definition, handlers } of resources) {
    problems.push(...verifyDefinition(definition, types));
    for (const [id, operation] of Object.entries(definition.operations)) {
      const route = `${operation.method} ${operation.path.replaceAll(/:[a-z_]+/g, ":")}`;
      const other = routes.get(route);
      if (other !== undefined) problems.push(`${id} and ${other} answer the same route, ${route}`);
      routes.set(route, id);
      if (ids.has(id)) problems.push(`two operations are called ${id}`);
      ids.add(id);
      if (handlers[id] === undefined) problems.push(`${id} has no handler`);
      problems.push(...verifyOperation(id, operation, types));
    }
  }
  if (problems.length > 0) throw new Error(`The resource definitions are inconsistent:\n  ${problems.join("\n  ")}`);
}

function verifyDefinition(definition: ResourceDefinition, types: ReadonlySet<string>): string[] {
  const problems: string[] = [];
  const secondNames = new Set(Object.values(aliases));
  for (const [name, attribute] of Object.entries(definition.attributes)) {
    if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name))
      problems.push(`${definition.type}: the attribute ${name} is not spelled with hyphens`);
    if (secondNames.has(name))
      problems.push(`${definition.type}: ${name} is the second name of an attribute; define the first`);
    if (attribute.doc === "") problems.push(`${definition.type}: the attribute ${name} is not documented`);
  }
  for (const [name, relationship] of Object.entries(definition.relationships)) {
    for (const type of relationship.types) {
      if (!types.has(type))
        problems.push(`${definition.type}: the relationship ${name} refers to ${type}, which no resource defines`);
    }
  }
  return problems;
}

function verifyOperation(id: string, operation: Operation, types: ReadonlySet<string>): string[] {
  const problems: string[] = [];
  if (operation.needs === "") problems.push(`${id} does not state who can call it`);
  if (operation.answerType !== undefined && !types.has(operation.answerType))
    problems.push(`${id} answers ${operation.answerType}, which no resource defines`);
  if (operation.body !== undefined && operation.method === "GET") problems.push(`${id} is a GET, but takes a body`);
  const takesStream = typeof operation.body === "object" && "stream" in operation.body;
  if (operation.body !== undefined && !takesStream && operation.example === undefined)
    problems.push(`${id} takes a body, but has no example`);
  return problems;
}
