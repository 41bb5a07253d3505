/// A database and the settings of a connection to it.
package struct PostgreSQLTarget: Sendable {
    /// The connection string in libpq's form, which may name several hosts
    /// (https://www.postgresql.org/docs/current/libpq-connect.html). It contains the password: no error and no
    /// description includes it.
    let connection: String
    /// The schema of unqualified names; nil for the server's search_path.
    package var schema: String?
    /// The connection's application name in the server's views.
    package var applicationName: String
    /// Connect timeout per host address in seconds, at least 2. Nil for the connection string's value, or 5 without
    /// one.
    package var connectSeconds: Int?
    /// Accepts only a server that accepts writes, whatever the connection string says: a standby returns older data.
    package var onlyWritable: Bool
    /// Further session settings by name, for example `statement_timeout`.
    package var settings: [String: String]

    package init(
        _ connection: String, schema: String? = nil, applicationName: String = "satchel", connectSeconds: Int? = nil,
        onlyWritable: Bool = false, settings: [String: String] = [:]
    ) {
        self.connection = connection
        self.schema = schema
        self.applicationName = applicationName
        self.connectSeconds = connectSeconds
        self.onlyWritable = onlyWritable
        self.settings = settings
    }

    /// Defaults that the connection string may override. An unreachable host is detected within 25 seconds, and
    /// Kerberos (GSSAPI) encryption is off.
    static let defaults = [
        ("connect_timeout", "5"), ("keepalives", "1"), ("keepalives_idle", "10"), ("keepalives_interval", "5"),
        ("keepalives_count", "3"), ("tcp_user_timeout", "25000"), ("gssencmode", "disable"),
    ]

    /// The parameters for libpq, which uses the last value of a repeated name.
    var parameters: [(String, String)] {
        var all = Self.defaults + [("dbname", connection)]
        all += [("application_name", applicationName), ("client_encoding", "UTF8")]
        if onlyWritable { all.append(("target_session_attrs", "read-write")) }
        if let connectSeconds { all.append(("connect_timeout", "\(connectSeconds)")) }
        return all
    }

    /// The session settings, for `set_config`.
    var sessionSettings: [(String, String)] {
        // Warnings must arrive: one reports a commit that is on one server only (`Wire`).
        var all = [
            ("TimeZone", "UTC"), ("DateStyle", "ISO"), ("bytea_output", "hex"), ("client_min_messages", "warning"),
        ]
        if let schema { all.append(("search_path", quoted(schema))) }
        return all + settings.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}

extension PostgreSQLTarget: CustomStringConvertible, CustomReflectable {
    /// The application name and the schema.
    package var description: String { "PostgreSQLTarget(\(applicationName), schema: \(schema ?? "as the server's"))" }
    /// Hides the connection string.
    package var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// Quotes a name for SQL; the name may contain any characters.
package func quoted(_ name: String) -> String { "\"" + name.replacing("\"", with: "\"\"") + "\"" }
