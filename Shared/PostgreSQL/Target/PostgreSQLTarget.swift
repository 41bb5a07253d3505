/// A database and how a connection to it is set up.
package struct PostgreSQLTarget: Sendable {
    /// The connection string as libpq takes it, with several hosts if need be
    /// (https://www.postgresql.org/docs/current/libpq-connect.html). It has the password: it is in no error and no
    /// description.
    let connection: String
    /// The schema that names without one mean; nil for the server's search_path.
    package var schema: String?
    /// The name of the connection in the server's views.
    package var applicationName: String
    /// Seconds that one host's address has to answer a new connection, at least 2; nil for what the connection string
    /// says or else 5.
    package var connectSeconds: Int?
    /// Takes only a server that writes, whatever the connection string says: what a standby gives is older.
    package var onlyWritable: Bool
    /// Further settings of the session by their names, `statement_timeout` for example.
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

    /// What libpq takes where the connection string says nothing: a host that vanished is noticed within 25 seconds,
    /// and nobody looks for Kerberos.
    static let defaults = [
        ("connect_timeout", "5"), ("keepalives", "1"), ("keepalives_idle", "10"), ("keepalives_interval", "5"),
        ("keepalives_count", "3"), ("tcp_user_timeout", "25000"), ("gssencmode", "disable"),
    ]

    /// libpq's parameters: of one that is named twice it takes the last.
    var parameters: [(String, String)] {
        var all = Self.defaults + [("dbname", connection)]
        all += [("application_name", applicationName), ("client_encoding", "UTF8")]
        if onlyWritable { all.append(("target_session_attrs", "read-write")) }
        if let connectSeconds { all.append(("connect_timeout", "\(connectSeconds)")) }
        return all
    }

    /// Settings of the session, for `set_config`.
    var sessionSettings: [(String, String)] {
        // A warning is heard of commits that are on one server alone.
        var all = [
            ("TimeZone", "UTC"), ("DateStyle", "ISO"), ("bytea_output", "hex"), ("client_min_messages", "warning"),
        ]
        if let schema { all.append(("search_path", quoted(schema))) }
        return all + settings.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}

extension PostgreSQLTarget: CustomStringConvertible, CustomReflectable {
    /// The application's name and the schema.
    package var description: String { "PostgreSQLTarget(\(applicationName), schema: \(schema ?? "as the server's"))" }
    /// Nothing of the connection string.
    package var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// A name in quotes, as SQL takes it whatever is in it.
package func quoted(_ name: String) -> String { "\"" + name.replacing("\"", with: "\"\"") + "\"" }
