/// Schemas of classes, and requests about a whole class.
extension Route {
    static let schemas: [Route] = [
        Route(.get, "/schemas", .schemas, "listSchemas", "Every class.", access: .desk(.developers)) {
            try await $0.controllers.schemas.list($0.request, $0.principal)
        },
        Route(
            .post, "/schemas", .schemas, "createNamedSchema", "Creates the class that the body names.",
            access: .desk(.developers)
        ) {
            try await $0.controllers.schemas.save(.create, nil, $0.request, $0.principal)
        },
        Route(.get, "/schemas/{className}", .schemas, "getSchema", "One class.", access: .desk(.developers)) {
            try await $0.controllers.schemas.get($0["className"], $0.request, $0.principal)
        },
        Route(.post, "/schemas/{className}", .schemas, "createSchema", "Creates a class.", access: .desk(.developers)) {
            try await $0.controllers.schemas.save(.create, $0["className"], $0.request, $0.principal)
        },
        Route(
            .put, "/schemas/{className}", .schemas, "updateSchema",
            "Changes fields, permissions and indexes of a class.",
            access: .desk(.developers)
        ) {
            try await $0.controllers.schemas.save(.change, $0["className"], $0.request, $0.principal)
        },
        Route(
            .post, "/schemas/{className}/convert", .schemas, "convertField",
            "Changes the type of a field and converts its values; a preview unless `apply` is true.",
            access: .desk(.developers)
        ) {
            try await $0.controllers.schemas.convert($0["className"], $0.request, $0.principal)
        },
        Route(
            .delete, "/schemas/{className}", .schemas, "deleteSchema", "Drops an empty class.",
            access: .desk(.developers)
        ) {
            try await $0.controllers.schemas.drop($0["className"], $0.request, $0.principal)
        },
        Route(.delete, "/purge/{className}", .schemas, "purgeClass", "Deletes all objects of a class.", access: .master)
        {
            try await $0.controllers.schemas.purge($0["className"], $0.request, $0.principal)
        },
        Route(
            .get, "/aggregate/{className}", .objects, "aggregate",
            "Distinct values of a field; with the master key also groups and sums over a class."
        ) {
            try await $0.controllers.aggregates.run($0["className"], $0.request, $0.principal)
        },
    ]
}
