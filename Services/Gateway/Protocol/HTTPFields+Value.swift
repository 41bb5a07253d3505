import HTTPTypes

extension HTTPFields {
    /// The value of a field, as the subscript has it. That one joins the values of all fields of a name, also where
    /// there is only one, at a price that profiles show.
    func value(_ name: HTTPField.Name) -> String? {
        var found: String?
        for field in self where field.name == name {
            guard found == nil else { return self[name] }
            found = field.value
        }
        return found
    }
}
