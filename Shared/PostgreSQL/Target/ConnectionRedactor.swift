import CPostgreSQL

/// Checks a connection string and removes its passwords from libpq's messages.
struct ConnectionRedactor {
    private var secrets: [String] = []

    /// - Throws: `PostgreSQLError` for a string that libpq rejects, and for one whose host, port or database seems to
    ///   contain a part of the password. Its message quotes nothing of the string, unlike libpq's own messages.
    init(_ connection: String) throws(PostgreSQLError) {
        let options = Self.options(of: connection)
        guard let options else {
            throw Self.invalid("It is neither a URL (postgresql://user@host/database) nor a list of key=value.")
        }
        for (name, value) in options where ["password", "sslpassword"].contains(name) { secrets.append(value) }
        let isURL = connection.contains("://")
        if let port = options["port"], !port.utf8.allSatisfy({ (48...57).contains($0) || $0 == 44 }) {
            throw Self.invalid("A port is not a number.")
        }
        for name in ["host", "dbname"] where isURL && options[name]?.contains("@") == true {
            throw Self.invalid("There is an @ in a host or database.")
        }
    }

    private static func invalid(_ why: String) -> PostgreSQLError {
        PostgreSQLError(
            state: "08001",
            message: "The connection string is not valid. \(why) In a URL, special characters of a password are written"
                + " in percent-encoding.")
    }

    /// A message of libpq on one line, with each password replaced by `***`.
    func told(_ text: String) -> String {
        let told = secrets.filter { !$0.isEmpty }.reduce(text) { $0.replacing($1, with: "***") }
        return told.split(whereSeparator: \.isNewline).joined(separator: "; ")
    }

    /// The options to which the string gives a value; nil when libpq cannot parse the string.
    private static func options(of connection: String) -> [String: String]? {
        var problem: UnsafeMutablePointer<CChar>?
        let options = PQconninfoParse(connection, &problem)
        if let problem { PQfreemem(problem) }
        guard let options else { return nil }
        defer { PQconninfoFree(options) }
        var found: [String: String] = [:]
        var next = options
        while let keyword = next.pointee.keyword {
            if let value = next.pointee.val { found[String(cString: keyword)] = String(cString: value) }
            next += 1
        }
        return found
    }
}
