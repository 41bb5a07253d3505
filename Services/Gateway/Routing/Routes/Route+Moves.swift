/// Moving in from another server (`scripts/move-in`).
extension Route {
    static let moves: [Route] = [
        Route(.get, "/moves", .system, "getMove", "What is staged, and the state of the switch.", access: .master) {
            try await $0.controllers.moves.status($0.request, $0.principal)
        },
        Route(.delete, "/moves", .system, "undoMove", "Drops everything that is staged.", access: .master) {
            try await $0.controllers.moves.undo($0.request, $0.principal)
        },
        Route(
            .post, "/moves/switch", .system, "switchMove",
            "Starts to make everything that is staged visible, or a rehearsal of it.", access: .master
        ) {
            try await $0.controllers.moves.begin($0.request, $0.principal)
        },
        Route(
            .put, "/moves/classes/{className}", .system, "stageClass", "Stages the schema of a class.", access: .master
        ) {
            try await $0.controllers.moves.stage(schemaOf: $0["className"], $0.request, $0.principal)
        },
        Route(.post, "/moves/rows/{className}", .system, "stageRows", "Stages rows of a class.", access: .master) {
            try await $0.controllers.moves.stage(rowsOf: $0["className"], $0.request, $0.principal)
        },
        Route(
            .get, "/moves/rows/{className}", .system, "listStagedRows", "Ids, times and checksums of staged rows.",
            access: .master
        ) {
            try await $0.controllers.moves.list(rowsOf: $0["className"], $0.request, $0.principal)
        },
        Route(
            .post, "/moves/removals/{className}", .system, "removeStagedRows", "Drops staged rows.", access: .master
        ) {
            try await $0.controllers.moves.remove(rowsOf: $0["className"], $0.request, $0.principal)
        },
        Route(
            .get, "/moves/members/{className}", .system, "listMembers", "Owners and members of a relation.",
            access: .master
        ) {
            try await $0.controllers.moves.list(membersOf: $0["className"], $0.request, $0.principal)
        },
        Route(
            .post, "/moves/secrets/{className}", .system, "exportSecrets",
            "What no object shows and another server needs, such as moved password hashes.", access: .master
        ) {
            try await $0.controllers.moves.list(secretsOf: $0["className"], $0.request, $0.principal)
        },
    ]
}
