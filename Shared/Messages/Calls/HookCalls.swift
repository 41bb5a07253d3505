/// The calls about webhooks and cloud code definitions, which `catalog` stores.
public enum HookCalls {
    /// All definitions. Sender: gateway.
    public static let list = Call<HooksRequest, HooksReply>("catalog.hooks.v1")
    /// Creates, changes or deletes a definition. Sender: gateway.
    public static let set = Call<HookChange, Accepted>("catalog.setHook.v1")
    /// Replaces the definitions made by cloud code. Sender: cloud.
    public static let setCode = Call<CodeDefinitions, Accepted>("catalog.setCode.v1")

    static let all: [any DeclaredCall] = [list, set, setCode]
}
