// Factories of the sources that other folders define. This file goes when they are there.

enum PostgreSQLDump { static func open(_ path: String) throws -> (any OldServer)? { nil } }

enum PostgreSQLServer {
    static func open(_ url: String) async throws -> any OldServer {
        throw MoveInError("This program reads no PostgreSQL.")
    }
}

enum ExportFolder { static func open(_ path: String) throws -> (any OldServer)? { nil } }

enum MongoDump { static func open(_ path: String, prefix: String) throws -> (any OldServer)? { nil } }
