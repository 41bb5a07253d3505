import ParseProtocol

/// Automatic indexes in the schemas API. An operator removes one permanently, or requests one, which is then built in
/// the background.
extension StoreTransaction {
    func changeAutomaticIndex(_ name: String, _ change: JSON, of info: inout ClassInfo) throws {
        let place = info.automatic.firstIndex { $0.isKept && $0.name == name }
        if change["__op"] == "Delete" {
            guard let place else {
                throw ParseError(.invalidQuery, "Index \(name.prefix(128)) does not exist, cannot delete.")
            }
            return try info.automatic[place].retire(isUnwanted: true, connection)
        }
        guard let wish = ClassIndex(json: change) else { throw Self.badWish(name) }
        if let place {
            // A client that sends back an unchanged schema changes nothing.
            if !wish.isUnique, Set(wish.fields.map(\.name)) == Set(info.automatic[place].fields.all) { return }
            throw ParseError(.invalidQuery, "Index \(name) exists, cannot update.")
        }
        let fields = IndexFields(keys: wish.fields.map(\.name))
        guard !wish.isUnique, fields.keys.count <= AutomaticIndex.fieldsMax, fields.name == name,
            !wish.fields.contains(where: { $0.isDescending }), fields.keys.allSatisfy({ info.isIndexable($0) })
        else { throw Self.badWish(name) }
        guard info.automatic.count(where: { $0.isKept }) < AutomaticIndex.perClassMax else {
            throw ParseError(
                .invalidQuery, "A class can have at most \(AutomaticIndex.perClassMax) automatic indexes.")
        }
        try AutomaticIndex.begin(fields, of: &info, by: .operator, at: now, connection)
    }

    private static func badWish(_ name: String) -> ParseError {
        ParseError(
            .invalidQuery,
            """
            Index \(name.prefix(128)) has the name of an automatic index: those map up to \
            \(AutomaticIndex.fieldsMax) fields of simple types to 1, and their names list these fields in order.
            """)
    }
}
