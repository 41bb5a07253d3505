extension Migrations {
    /// The tables every file has. The tables of a class are made when the class is, and changed by `SchemaWriter`.
    static let objectStore = Migrations(
        "store",
        [
            Migration(
                1, "tables",
                [
                    """
                    CREATE TABLE IF NOT EXISTS classes(
                        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, fields TEXT NOT NULL, \
                        permissions TEXT NOT NULL,
                        textFields TEXT NOT NULL)
                    """,
                    """
                    CREATE TABLE IF NOT EXISTS relations(
                        class INTEGER NOT NULL, key TEXT NOT NULL, owner TEXT NOT NULL, target TEXT NOT NULL,
                        PRIMARY KEY(class, key, owner, target)) WITHOUT ROWID
                    """,
                    """
                    CREATE TABLE IF NOT EXISTS classEdits(
                        class INTEGER PRIMARY KEY, hasPermissions INTEGER NOT NULL, indexes TEXT NOT NULL)
                    """,
                    "CREATE INDEX IF NOT EXISTS relationsByTarget ON relations(class, key, target, owner)",
                    """
                    CREATE TABLE IF NOT EXISTS storeIdentity(id INTEGER PRIMARY KEY CHECK (id = 1), \
                    database TEXT NOT NULL,
                    generation INTEGER NOT NULL)
                    """,
                ]),
            Migration(
                2, "automaticIndexes",
                [
                    """
                    CREATE TABLE automaticIndexes(
                        id INTEGER PRIMARY KEY, class INTEGER NOT NULL, keys TEXT NOT NULL, filters TEXT NOT NULL,
                        madeBy TEXT NOT NULL, madeAt INTEGER NOT NULL, state TEXT NOT NULL,
                        isUnwanted INTEGER NOT NULL DEFAULT 0, through INTEGER NOT NULL DEFAULT 0,
                        last INTEGER NOT NULL DEFAULT 0)
                    """
                ]),
        ])
}
