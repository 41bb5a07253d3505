// The keys of crash projects.

/** One row for each key; a project without keys has one too. */
export function keysOf(projects) {
  return projects.flatMap((project) =>
    (project.keys.length ? project.keys : [{ key: '', dsn: '', disabled: true }]).map((key) => ({
      ...project,
      ...key,
    })),
  );
}
